"""Pure data types of the scheduler. They know nothing of its state."""
