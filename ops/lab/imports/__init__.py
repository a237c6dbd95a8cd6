"""Importers: published traces and failure records as the CSV files that the lab plays."""
