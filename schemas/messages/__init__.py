"""Message types, one module for each service that writes them."""
