"""Repair shop: a queue of repairs, technicians, spares and a ledger."""
