"""Claims of the papers about the datacenter network."""
