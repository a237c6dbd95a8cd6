"""Answers to what-if questions about a running twin, computed on copies of its state."""
