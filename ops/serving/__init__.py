"""What the gateway of every runtime needs: HTTP server, connection limits, tokens, the past."""
