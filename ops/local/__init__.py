"""This machine and this build: version, user folders, worker processes, output files."""
