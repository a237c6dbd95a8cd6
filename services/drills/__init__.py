"""Drills: planned experiments on a fabric, which watch a hypothesis, stop when they go wrong, and undo."""
