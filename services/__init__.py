"""What the twin does: one folder per service, and fabric_kinds.py, the one place where parts meet."""
