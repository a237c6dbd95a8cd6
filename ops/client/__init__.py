"""HTTP client of a running twin."""
