"""What is broken in truth: hazards, injected faults, repair and undo."""
