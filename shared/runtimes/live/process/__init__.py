"""Common parts of every live process: startup, registration, heartbeat, health and metrics."""
