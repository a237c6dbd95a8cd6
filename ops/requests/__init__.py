"""Requests as text, and requests at given times of a simulated copy."""
