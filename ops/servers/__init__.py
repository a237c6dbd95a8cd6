"""Kafka and Redis of one's own on this machine, for trials and tests."""
