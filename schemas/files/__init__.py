"""Records of files next to the log: archives, backups, forks, operations, site plans."""
