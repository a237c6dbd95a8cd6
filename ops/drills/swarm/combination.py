"""A combination: what one drill of the swarm does, and the lab in which it runs.

It is a plain value, so it can be drawn, simplified and compared. Its document is what `lightwave drill run`
reads.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from ops.drills.calls import VERBS_MODULE
from ops.drills.document import Drill, parse_drill
from ops.drills.lab_run import LabDrill
from ops.drills.suite_plan import SITES
from ops.sites.site_plans import read_site, single_fabric_sites, with_seed
from shared.basics.units import US_PER_S

MINUTE_S, HOUR_S = 60, 3_600
LEASE_SLACK_S = HOUR_S
"""The lease is this much longer than the method."""
DURATIONS = frozenset({"lasts", "onset", "at_most"})
"""Arguments that are durations; a combination has them in seconds."""


@dataclass(frozen=True, slots=True)
class SwarmStep:
    """One action of the method, with its arguments; durations are in seconds."""

    verb: str
    arguments: Mapping[str, Any]
    repeat: int = 1
    every_s: int = 0


@dataclass(frozen=True, slots=True)
class SwarmTarget:
    """Resources that the drill draws when it starts."""

    kind: str
    where: str
    choose: int


@dataclass(frozen=True, slots=True)
class Combination:
    """A drill and its lab: `seed` is that of the draws of both; `site` is the name of a site file that comes
    with the program, None for one superpod with the settings `pairs` (name → value)."""

    seed: int
    steps: tuple[SwarmStep, ...]
    targets: Mapping[str, SwarmTarget] = field(default_factory=dict)
    pairs: Mapping[str, Any] = field(default_factory=dict)
    site: str | None = None
    fabric: str = "pod-0"
    warm_up_s: int = 12 * HOUR_S
    verify_s: int = HOUR_S

    def with_steps(self, steps: tuple[SwarmStep, ...]) -> "Combination":
        """The combination with other steps, and only the targets that these use."""
        used = repr([step.arguments for step in steps])
        targets = {name: one for name, one in self.targets.items() if f"${{{name}}}" in used}
        return replace(self, steps=steps, targets=targets)

    @property
    def method_s(self) -> int:
        """The length of the method in seconds of simulated time."""
        waits = sum(step.arguments["lasts"] for step in self.steps if step.verb == "wait")
        return int(waits + sum((step.repeat - 1) * step.every_s for step in self.steps))

    def settings(self) -> tuple[str, ...]:
        """The settings of the pod as `KEY=VALUE`."""
        return tuple(f"{name}={_word(value)}" for name, value in self.pairs.items())


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def duration_text(seconds: int) -> str:
    """A duration as documents have it, exact to the second."""
    found = ""
    for unit, size_s in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, seconds = divmod(seconds, size_s)
        found += f"{count}{unit}" if count else ""
    return found or "0s"


# --- the document -------------------------------------------------------------------------------------------


def document_of(one: Combination, title: str, description: str) -> dict[str, Any]:
    """The drill document of a combination. It has no hypothesis: the swarm itself judges the run."""
    names = [f"{number}-{step.verb.replace('_', '-')}" for number, step in enumerate(one.steps, 1)]
    extension: dict[str, Any] = {"name": "lightwave", "version": 1, "fabric": one.fabric}
    if one.targets:
        extension["targets"] = {
            name: {"kind": target.kind, "where": target.where, "choose": target.choose}
            for name, target in one.targets.items()
        }
    repeated = {
        name: {"repeat": step.repeat, "every": duration_text(step.every_s)}
        for name, step in zip(names, one.steps, strict=True)
        if step.repeat > 1
    }
    if repeated:
        extension["steps"] = repeated
    extension |= {
        "probe_every": "10m",
        "after": {"recovers_within": "1m", "holds_for": duration_text(one.verify_s)},
        "ends_within": duration_text(one.method_s + LEASE_SLACK_S),
    }
    return {
        "title": title,
        "description": description,
        "tags": ["lightwave", "swarm"],
        "method": [_activity(name, step) for name, step in zip(names, one.steps, strict=True)],
        "extensions": [extension],
    }


def _activity(name: str, step: SwarmStep) -> dict[str, Any]:
    arguments = {
        key: duration_text(value) if key in DURATIONS else value for key, value in step.arguments.items()
    }
    provider = {"type": "python", "module": VERBS_MODULE, "func": step.verb, "arguments": arguments}
    return {"type": "action", "name": name, "provider": provider}


class _Dumper(yaml.SafeDumper):
    """Writes no aliases, which documents must not have."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def document_text(one: Combination, title: str, description: str, comment: str = "") -> str:
    """The document as YAML, below a comment."""
    body = yaml.dump(
        document_of(one, title, description),
        Dumper=_Dumper,
        sort_keys=False,
        width=100,
        allow_unicode=True,
        default_flow_style=None,
    )
    lines = "".join(f"# {line}\n" for line in comment.splitlines())
    return lines + body


def drill_of(one: Combination) -> Drill:
    """The drill of a combination, read from its document."""
    return parse_drill(document_text(one, f"Swarm {one.seed}", "Drawn by the swarm."), f"seed {one.seed}")


def lab_drill_of(one: Combination) -> LabDrill:
    """The run of a combination in the lab."""
    if one.site is not None:
        (site,) = with_seed((read_site(site_file(one.site)),), one.seed)
    else:
        (site,) = single_fabric_sites(1, pairs=one.settings(), seed=one.seed)
    return LabDrill(drill_of(one), site, one.seed, one.warm_up_s * US_PER_S)


def site_file(name: str) -> Path:
    """The site file with this name."""
    return SITES / f"{name}.yaml"


def suite_entry(one: Combination) -> dict[str, Any]:
    """How the lab runs it, for `suite.yaml`."""
    found: dict[str, Any] = {"seed": one.seed, "warm_up": duration_text(one.warm_up_s)}
    if one.site is not None:
        found["site"] = one.site
    if one.pairs:
        found["set"] = list(one.settings())
    return found
