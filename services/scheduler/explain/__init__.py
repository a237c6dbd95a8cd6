"""Explanations of scheduling decisions, from the functions that make them."""
