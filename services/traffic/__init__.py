"""Traffic engineering of a network: splits its demand over direct and one-transit paths."""
