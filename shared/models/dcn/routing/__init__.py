"""Which paths traffic takes over the trunks."""
