"""The log for clients: history, tail and time travel."""
