"""The engine: what a service is and how a log is folded. It is pure, and independent of any fabric."""
