"""Importers: convert published traces and failure records to the CSV files that the lab plays."""
