"""Monitoring of cubes: health of hosts, chips and modules, drains, and repair requests."""
