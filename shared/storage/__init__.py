"""Persistence: files, logs, snapshots, the state store and the inbox."""
