"""Commands that start, keep, check, back up and upgrade a twin."""
