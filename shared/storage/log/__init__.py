"""A fabric's log as a file: JSON lines, one envelope a line."""
