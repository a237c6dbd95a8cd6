"""Explanations of what happened, and predictions of what a request would change."""
