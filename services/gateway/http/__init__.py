"""The gateway over HTTP: routes, who may use them, how answers look, streams of events."""
