"""Forks of an embedded twin: other twins, whose history is the first one's up to a moment.

A fork is a data folder as any other, with `origin.json` in it, which says of what twin and moment it is one,
and has the digests of what it has from there. They stand beside each other in one folder of the user's, by
name.
"""
