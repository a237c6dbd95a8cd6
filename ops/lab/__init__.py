"""Runs in the lab: superpods in virtual time, replays, recorded traces of jobs."""
