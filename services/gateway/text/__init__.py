"""Messages and errors as sentences."""
