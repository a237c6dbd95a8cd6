"""The process that alone appends to the log."""
