"""Traffic between blocks: demand models, bursts, jobs."""
