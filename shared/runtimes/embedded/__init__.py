"""The embedded runtime: a whole living twin in one process, on append-only log files and one state store."""
