"""Changed copies are those that `dataclasses.replace` makes."""

import dataclasses
from typing import Any

import pytest

from schemas.messages.jobs import JobTerms
from shared.basics.fast_replace import replace
from shared.models.jobs.goodput_categories import UsageByCategory
from shared.models.jobs.job_progress import Progress

JOB = Progress(
    JobTerms(work_us=9, checkpoint_every_us=4, write_us=1, startup_us=2), 5, usage=UsageByCategory(lost=3)
)


def test_a_copy_is_as_the_standard_library_makes_it() -> None:
    for changes in (
        {},
        {"phase": "hung"},
        {"terms": None, "since_us": 8, "usage": UsageByCategory(startup=1)},
    ):
        assert replace(JOB, **changes) == dataclasses.replace(JOB, **changes)
    assert JOB.usage == UsageByCategory(lost=3)


def test_an_unknown_field_is_refused() -> None:
    changes: dict[str, Any] = {"phases": "hung"}
    with pytest.raises(KeyError, match="phases"):
        replace(JOB, **changes)
