"""What is on disk: the stream, its payloads, the rendered notebook, the attempt folder, the index."""
