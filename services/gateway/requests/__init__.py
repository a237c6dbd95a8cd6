"""Requests of operators, from the body to the receipt."""
