"""Claims of the papers about superpods."""
