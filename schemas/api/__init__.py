"""Typed rows and answers of the HTTP API."""
