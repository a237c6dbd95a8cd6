"""Snapshots: what a site's log comes to at some of its quiet moments, kept in files beside it.

A snapshot is a help and never the truth: it can be made again from the log, and who finds it damaged, or of
another build, takes an older one or begins at the log's beginning.
"""
