"""Backups of an embedded twin: where they are cut, how they are written and verified, and twins made of them.

A backup is a folder: `manifest.json`, which has the digest of itself and of every file; each site's log up to
one quiet moment, as zstd; the snapshots and telemetry frames up to it; the requests that waited then; the
clock, the sites, the operations log, the dead letters. States are not in it: they are made again from the
log.
"""
