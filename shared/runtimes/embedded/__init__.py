"""The embedded runtime: a living twin in one process, with append-only log files and one state store."""
