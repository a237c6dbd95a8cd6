"""Computations and reports of a datacenter network without a twin: file checks, plans, weights and charts."""
