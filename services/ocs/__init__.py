"""Simulates OCS hardware: wanted and made circuits, and chassis and ports that fail and recover."""
