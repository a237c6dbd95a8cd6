"""The ready calibrations, a file each."""
