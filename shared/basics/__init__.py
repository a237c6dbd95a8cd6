"""Basics that engine, runtimes and models share: errors, units, keyed random numbers, argument checks."""
