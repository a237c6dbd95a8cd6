"""Which slice runs where: queue, placement, circuits wanted, recovery."""
