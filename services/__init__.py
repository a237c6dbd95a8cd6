"""What the twin does: one folder per service, and fleet.py, the one place where parts meet."""
