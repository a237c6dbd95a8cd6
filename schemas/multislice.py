"""Multislice jobs, as Cloud TPU calls them: one slice in each of several pods of a site. The datacenter
network joins them."""

import re
from typing import Annotated

from pydantic import Field

from schemas.body import Model
from schemas.limits import COUNT_MAX, DURATION_US_MAX, QUOTED_MAX
from schemas.names import FABRIC_PATTERN, FabricName, SliceName

PODS_MIN = 2
"""A job in one pod is a plain slice."""
PODS_MAX = 1_000
"""Maximum number of pods of a job, as of a twin."""
PODS_DIGITS_MAX = 9
PODS_ALLOWED = (
    f"the number of pods, {PODS_MIN} to {PODS_MAX:,}, or their names in ring order, such as pod-0,pod-3"
)

Pods = tuple[FabricName, ...]
"""The pods of a job in ring order; the first one received the request."""


def parse_pods(text: str) -> int | tuple[str, ...]:
    """Parse `2`, or `pod-0,pod-3`, to a number or names. Raises ValueError with one sentence about the
    error."""
    shown = text[:QUOTED_MAX]
    if re.fullmatch(r"-?[0-9]+", text.strip()):
        if len(text.strip()) > PODS_DIGITS_MAX or not PODS_MIN <= int(text) <= PODS_MAX:
            raise ValueError(f"{shown} is not allowed; must be {PODS_ALLOWED}")
        return int(text)
    names = tuple([name.strip() for name in text.split(",")])
    for name in names:
        if re.fullmatch(FABRIC_PATTERN, name) is None:
            raise ValueError(f"{name[:QUOTED_MAX]!r} is not a number or a pod name; must be {PODS_ALLOWED}")
        if names.count(name) > 1:
            raise ValueError(f"{name} is named twice; a job has one slice in each of its pods")
    if len(names) < PODS_MIN:
        raise ValueError(f"{shown} alone is not allowed; must be {PODS_ALLOWED}")
    return names


class Multislice(Model):
    """The job that a slice is a part of, and the traffic between its pods. `job` is its name: the name of its
    slice in the first of its `pods`. In every step, which takes `step_us` at full speed without sending,
    `gradient_bytes` are summed over all pods."""

    job: SliceName
    pods: Pods
    gradient_bytes: Annotated[int, Field(ge=0, le=COUNT_MAX)]
    step_us: Annotated[int, Field(ge=1, le=DURATION_US_MAX)]
