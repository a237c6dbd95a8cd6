"""What every live process has: a heartbeat, health and metrics."""
