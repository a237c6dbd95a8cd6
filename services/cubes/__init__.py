"""Hosts, chips and modules as the cubes' own monitoring sees them: verdicts, drains, repair requests."""
