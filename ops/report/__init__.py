"""Text, tables, charts and pages for people and programs."""
