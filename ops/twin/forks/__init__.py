"""Forks of an embedded twin: separate twins that share the history of a first one up to a time.

A fork is a normal data folder with `origin.json`, which names the parent twin and the time, and has the
digests of the inherited files. All forks are in one folder of the user's, by name.
"""
