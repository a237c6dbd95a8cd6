"""Traffic engineering of a network: how its demand is split over direct and one-transit paths."""
