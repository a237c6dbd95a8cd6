"""The inbox: operators' requests that wait for their place on the log."""
