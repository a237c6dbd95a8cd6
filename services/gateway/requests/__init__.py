"""Requests of operators, from the request body to the receipt."""
