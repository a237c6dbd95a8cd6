"""Bidirectional optical links through a Palomar, element by element, from launch power to bit error rate."""
