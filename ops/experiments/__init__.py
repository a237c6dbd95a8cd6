"""Availability experiments: a document, its runs over seeds and variants, and what they say."""
