"""The OCS hardware twins: circuits wanted and made, chassis and ports that fail and return."""
