"""Counters of a site's fabrics at a time, read from the states and the log of a run."""
