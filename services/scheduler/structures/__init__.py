"""Data types of the scheduler that do not depend on its state."""
