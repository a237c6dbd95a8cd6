"""Simulation of machines that fail and crews that repair them, without other processes.

With every machine's history, in plain Python or compiled with identical bits; as counts of many replications
at once; and by splitting for rare events.
"""
