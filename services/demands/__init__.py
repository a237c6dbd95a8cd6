"""What the blocks of a network want to send each other, as it moves."""
