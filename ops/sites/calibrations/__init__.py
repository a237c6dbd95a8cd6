"""The predefined calibrations, one file each."""
