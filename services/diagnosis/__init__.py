"""Diagnosis: finds the faulty part of links from readings alone, and requests its repair."""
