"""Telemetry frames of modules and OCSes."""
