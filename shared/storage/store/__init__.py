"""The state store: port, memory and Redis implementations, change tracking, copies."""
