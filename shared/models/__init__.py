"""What the world is like: plain functions over numbers and arrays. Knows no runtime, no store, no log."""
