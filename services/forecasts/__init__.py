"""Forecasts: random futures of a site, in worker processes, as background jobs of a gateway."""
