"""Recomputes the papers' claims and compares them with the stated values: `lightwave reproduce`."""
