"""Commands that show the current state of a twin."""
