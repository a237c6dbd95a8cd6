"""The lines that tell how a drill goes on, each printed once."""

from typing import TYPE_CHECKING, Any

from ops.drills.measured_text import measured_texts
from shared.basics.time_format import format_gap, format_time

if TYPE_CHECKING:
    from schemas.api.rows import DrillRow


class DrillProgress:
    """Finds what is new in the next status of a drill."""

    def __init__(self) -> None:
        self._phase: str | None = None
        self._lamps: dict[tuple[str, str, str | None], tuple[str, bool]] = {}
        self._steps: dict[str, tuple[str, int]] = {}
        self._faults: set[str] = set()

    def lines(self, row: "DrillRow") -> list[str]:
        """The new lines of this status."""
        found = []
        if row.phase != self._phase:
            self._phase = row.phase
            found.append(f"{format_time(row.phase_us)} phase {row.phase}")
        found += self._new_steps(row)
        found += self._new_lamps(row)
        for fault in sorted(set(row.active_faults) - self._faults):
            found.append(f"  fault {fault} is active")
        for fault in sorted(self._faults - set(row.active_faults)):
            found.append(f"  fault {fault} has ended")
        self._faults = set(row.active_faults)
        return found

    def _new_steps(self, row: "DrillRow") -> list[str]:
        found = []
        for step in row.steps:
            state = (step.state, step.repeat)
            if state != self._steps.get(step.name, ("waiting", 0)):
                self._steps[step.name] = state
                times = f" {step.repeat} of {step.repeats}" if step.repeats > 1 else ""
                why = f": {step.reason}" if step.reason else ""
                found.append(f"  step {step.name}{times} {step.state}{why}")
        return found

    def _new_lamps(self, row: "DrillRow") -> list[str]:
        found = []
        for lamp in row.lamps:
            key, state = (lamp.phase, lamp.probe, lamp.target), (lamp.verdict, lamp.deviated)
            if state == self._lamps.get(key) or lamp.phase != row.phase:
                continue
            self._lamps[key] = state
            target = f" of {key[2]}" if key[2] else ""
            deviated = (
                f", deviated: violated for {format_gap(lamp.violated_us)}, allowed "
                f"{format_gap(lamp.allowed_us)}"
                if lamp.deviated
                else ""
            )
            measured = ", ".join(measured_texts(_compared(lamp)))
            values = f" ({measured})" if measured else ""
            found.append(f"  probe {lamp.probe}{target} {lamp.verdict}{values}{deviated}")
        return found


def _compared(lamp: Any) -> list[str]:
    """What a probe compared. `values` of a JSON object is a method of it."""
    return list(lamp["compared"])
