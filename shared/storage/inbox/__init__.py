"""Requests on their way to the log."""
