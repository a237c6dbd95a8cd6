"""Which trunks a network should have for its demand."""
