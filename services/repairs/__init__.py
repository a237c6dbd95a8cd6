"""The repair shop: a queue, technicians, and the ledger of repairs."""
