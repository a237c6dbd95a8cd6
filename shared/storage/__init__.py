"""What a service remembers for one fabric, as bytes, and where it is kept."""
