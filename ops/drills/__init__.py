"""Drills: their documents, their runs in the lab, their score and the standard suite."""
