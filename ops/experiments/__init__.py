"""Availability experiments: the document, its runs over seeds and variants, and their results."""
