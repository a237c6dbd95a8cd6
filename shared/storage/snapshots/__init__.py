"""Snapshots: a site's states at quiet points of its log, in files.

A snapshot is never the source of truth: it can be rebuilt from the log. A reader that finds one damaged, or
of another build, uses an older one or starts at the log's first message.
"""
