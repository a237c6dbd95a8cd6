"""The queue: who is next, who may pass, who makes room, and what is promised."""
