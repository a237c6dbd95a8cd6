"""The gateway's HTTP API: routes, access control, responses and event streams."""
