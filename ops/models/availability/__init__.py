"""Drawing and telling the closed forms of availability."""
