"""What becomes of slices that were hit, or have to leave."""
