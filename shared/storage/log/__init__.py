"""A site's log as files: JSON lines, one envelope per line."""
