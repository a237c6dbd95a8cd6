"""The make-up of a twin: site files, configuration, calibrations and the strict YAML reader."""
