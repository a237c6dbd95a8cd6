"""Commands that run the lab, experiments and the claims of the papers."""
