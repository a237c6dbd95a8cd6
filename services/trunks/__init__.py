"""Links between the blocks of a network: which circuits are fit, and which carry traffic."""
