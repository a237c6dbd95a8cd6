"""Rows of resources, look-up by name, selection, and related resources."""
