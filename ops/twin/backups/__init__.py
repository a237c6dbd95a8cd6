"""Backups of an embedded twin: create, verify and restore.

A backup is the content of a data folder at one quiet time. It is a folder with `manifest.json`, which has the
digest of every file and of itself; each site's log, compressed with zstd; snapshots and telemetry frames; the
pending requests; the clock, the sites, the operations log and the dead letters. It has no states, because
they are rebuilt from the logs.
"""
