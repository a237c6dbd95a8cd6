"""What runs on a slice: how far it has come, and what its time went to."""
