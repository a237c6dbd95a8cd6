"""Commands that predict the effect of a request or a fault on copies of the twin."""
