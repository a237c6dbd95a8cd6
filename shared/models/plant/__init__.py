"""The inventory of a fabric: parts, names and failure domains."""
