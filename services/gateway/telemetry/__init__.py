"""Telemetry frames of transceiver modules and OCSes."""
