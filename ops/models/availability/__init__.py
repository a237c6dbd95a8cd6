"""Charts and reports of the closed forms of availability."""
