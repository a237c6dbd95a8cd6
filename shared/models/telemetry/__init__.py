"""What optical modules read of themselves: sensors, their calibration, noise, steps and thresholds."""
