"""Commands that send requests to a twin and report the outcome."""
