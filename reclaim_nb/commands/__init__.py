"""What stands behind the ``reclaim`` command: one file for each group of commands, everything heavy imported inside."""
