"""What a twin is made of: site files, configuration, calibration, and the strict YAML reader."""
