"""What every live process has: a place in its twin, a heartbeat, health and metrics."""
