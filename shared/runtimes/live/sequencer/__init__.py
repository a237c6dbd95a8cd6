"""The sequencer process, which alone appends to the log."""
