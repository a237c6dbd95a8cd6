"""What-if queries about a running twin, answered on copies of its state."""
