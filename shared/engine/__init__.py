"""What a service is and how a log is folded: plain, pure, and without knowledge of any fabric."""
