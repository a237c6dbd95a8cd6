"""Why something happened, and what a request would change."""
