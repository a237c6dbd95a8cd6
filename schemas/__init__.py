"""Schemas of message bodies, envelopes, configuration and status documents. They depend on pydantic only."""
