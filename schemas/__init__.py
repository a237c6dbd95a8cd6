"""What may be said: message bodies, envelope, configuration, status documents. Pydantic only."""
