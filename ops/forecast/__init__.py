"""What is to come of a living twin: its own rules drive copies of it on, with other draws in each."""
