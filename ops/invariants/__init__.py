"""What must hold in every log, judged from the messages alone, outside the services."""

from ops.invariants.checker import AllCheckers, Checker, check_all

__all__ = ["AllCheckers", "Checker", "check_all"]
