"""Administration: commissioning of fabrics, and dead letters."""
