"""Helpers shared by several commands: options, parameter types, completion, output and tables."""
