"""Access control: tokens, roles, rate limits and cross-site checks."""
