"""The log as clients query it: history, tail and time travel."""
