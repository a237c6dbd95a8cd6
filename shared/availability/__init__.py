"""Closed forms of availability: fabrics, goodput of slices, placement, machine repair."""
