"""Simulates both ends of every optical link: whether light arrives, and how much."""
