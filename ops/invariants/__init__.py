"""Rules that every log must satisfy, checked from the messages alone, without the services."""

from ops.invariants.checker import AllCheckers, Checker

__all__ = ["AllCheckers", "Checker"]
