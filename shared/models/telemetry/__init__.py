"""Telemetry of optical modules and OCSes: sensors, calibration, noise, register steps and thresholds."""
