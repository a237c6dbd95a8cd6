"""The engine: the definition of a service, and the fold of a log. It is pure, and independent of any
fabric."""
