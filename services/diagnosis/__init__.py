"""Diagnosis: what is the matter with links, found from readings alone, and who should see to it."""
