"""Prometheus metrics and goodput reports."""
