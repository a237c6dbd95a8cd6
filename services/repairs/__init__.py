"""Repair shop: a queue of repairs, technicians, spares, and the history of repairs."""
