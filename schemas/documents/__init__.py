"""Status documents, each a pure function of one service's state."""
