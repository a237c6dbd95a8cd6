"""Who may call the API: tokens, roles, rate limits, cross-site checks."""
