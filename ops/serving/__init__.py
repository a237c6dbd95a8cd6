"""Gateway infrastructure of every runtime: HTTP server, connection limits, tokens, and past states."""
