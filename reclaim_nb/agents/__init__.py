"""Who writes the cells. An agent is a class with one coroutine; adding one is one file and one entry point."""
