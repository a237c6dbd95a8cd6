"""Both ends of every optical link: whether light comes through, and how much."""
