"""Jobs over several pods, *multislice* jobs as Cloud TPU calls them: one slice in each of several pods of a
site, which the datacenter network joins."""

import re
from typing import Annotated

from pydantic import Field

from schemas.body import Model
from schemas.limits import COUNT_MAX, DURATION_US_MAX, QUOTED_MAX
from schemas.names import FABRIC_PATTERN, FabricName, SliceName

PODS_MIN = 2
"""With one pod it is a slice as any other."""
PODS_ALLOWED = f"how many, {PODS_MIN} or more, or their names in the order of the ring, as pod-0,pod-3"

Pods = tuple[FabricName, ...]
"""The pods of a job, in the order of its ring; the first is the one that was asked."""


def parse_pods(text: str) -> int | tuple[str, ...]:
    """`2`, or `pod-0,pod-3`, as a number or names; ValueError says in one sentence what is wrong with the
    text."""
    shown = text[:QUOTED_MAX]
    if re.fullmatch(r"-?[0-9]{1,9}", text.strip()):
        if int(text) < PODS_MIN:
            raise ValueError(f"{shown} is not allowed; allowed are {PODS_ALLOWED}")
        return int(text)
    names = tuple([name.strip() for name in text.split(",")])
    for name in names:
        if re.fullmatch(FABRIC_PATTERN, name) is None:
            raise ValueError(f"{name[:QUOTED_MAX]!r} is no number and no name; allowed are {PODS_ALLOWED}")
        if names.count(name) > 1:
            raise ValueError(f"{name} is named twice; a job has one slice in each of its pods")
    if len(names) < PODS_MIN:
        raise ValueError(f"{shown} alone is not allowed; allowed are {PODS_ALLOWED}")
    return names


class Multislice(Model):
    """The job that a slice is a part of, and what it sends between its pods. `job` is its name: that of its
    slice in the first of its `pods`. In every step of `step_us` at full speed, what it takes to send aside,
    `gradient_bytes` are summed over all pods."""

    job: SliceName
    pods: Pods
    gradient_bytes: Annotated[int, Field(ge=0, le=COUNT_MAX)]
    step_us: Annotated[int, Field(ge=1, le=DURATION_US_MAX)]
