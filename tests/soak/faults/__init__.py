"""What a soak does to a twin: one small function a strike, one row each in the table."""
