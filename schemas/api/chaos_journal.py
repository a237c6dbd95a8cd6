"""The journal of a drill in the form of the Chaos Toolkit (chaostoolkit-lib 1.44).

Times are simulated, in ISO 8601 without a zone: the start of the site is written as 1970-01-01. Durations are
in seconds.
"""

from typing import Literal

from pydantic import Field

from schemas.api.drill_journal import DrillJournal
from schemas.body import Model, is_none


class ActivityArguments(Model):
    """The condition of a probe, or what an undo ended."""

    condition: str | None = Field(default=None, exclude_if=is_none)
    target: str | None = Field(default=None, exclude_if=is_none)


class ActivityProvider(Model):
    """What runs an activity; `func` is the verb of a step, or `condition`."""

    type: Literal["python"]
    module: str
    func: str
    arguments: ActivityArguments


class Activity(Model):
    """A probe or a step of the experiment; `tolerance` is the value that a probe must have."""

    type: Literal["probe", "action"]
    name: str
    provider: ActivityProvider
    tolerance: bool | None = Field(default=None, exclude_if=is_none)


class StepOutput(Model):
    """What a step did: the ids of its requests and the names of its faults; or why not."""

    outcome: str | None
    reason: str | None
    requests: tuple[str, ...]
    faults: tuple[str, ...]


class UndoOutput(Model):
    """Why an undo was refused; null if it was not."""

    reason: str | None


class ActivityRun(Model):
    """An activity that ran. The output of a probe is what its condition compared. `tolerance_met` is only of
    probes, `exception` only of steps that failed."""

    activity: Activity
    output: tuple[str, ...] | StepOutput | UndoOutput
    status: Literal["succeeded", "failed"]
    start: str
    end: str | None
    duration: float | None
    tolerance_met: bool | None = Field(default=None, exclude_if=is_none)
    exception: tuple[str, ...] | None = Field(default=None, exclude_if=is_none)


class SteadyState(Model):
    """The probes at one time, and whether all were as they must be."""

    steady_state_met: bool
    probes: tuple[ActivityRun, ...]


class SteadyStates(Model):
    """`before` is the gate and `after` the verification, null if the drill did not get there; `during` are
    the changes between them."""

    before: SteadyState | None
    after: SteadyState | None
    during: tuple[SteadyState, ...]


class Hypothesis(Model):
    """What must be true while the system is as it should be."""

    title: str
    probes: tuple[Activity, ...]


class ChaosExperiment(Model):
    """The experiment, written again from the plan of the drill."""

    title: str
    description: str
    tags: tuple[str, ...]
    hypothesis: Hypothesis = Field(alias="steady-state-hypothesis")
    method: tuple[Activity, ...]
    rollbacks: tuple[Activity, ...]


class ChaosJournal(Model):
    """The journal of a drill. `status` is null while the drill runs; `lightwave` is the whole record, with
    the drill's own status."""

    chaoslib_version: str = Field(alias="chaoslib-version")
    platform: str
    node: str
    experiment: ChaosExperiment
    start: str
    status: Literal["completed", "failed", "aborted", "interrupted"] | None
    deviated: bool
    steady_states: SteadyStates
    run: tuple[ActivityRun, ...]
    rollbacks: tuple[ActivityRun, ...]
    end: str | None
    duration: float | None
    lightwave: DrillJournal
