"""The twin's face to people: an HTTP API over status documents, the log, the inbox and the clock. Owns
nothing."""
