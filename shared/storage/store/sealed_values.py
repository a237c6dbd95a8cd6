"""Digests of the values of a partition that decide how its states are read: its fabrics and its code.

Several processes write these values. So each value has a digest of its own, in a further value of the
partition, and is checked before anything is decided by it: also before the code versions are compared.
Their form must not change, because later versions check the values of earlier ones.
"""

from collections.abc import Mapping
from dataclasses import replace

from shared.basics.errors import StateRefused
from shared.engine.code_version import LAYOUT_VALUE, RULES_VALUE, SOFTWARE_VALUE
from shared.storage.store.fabric_registry import REGISTRATION_PREFIX
from shared.storage.store.state_digests import StateDigests
from shared.storage.store.state_store import Commit, OutboxTrim

MARK_PREFIX = "digest:"
"""Prefix of the values with digests; the rest is the name of the value that it covers."""


def is_covered(name: str) -> bool:
    """Whether a value of this name has a digest."""
    return name in {RULES_VALUE, SOFTWARE_VALUE} or name.startswith((REGISTRATION_PREFIX, LAYOUT_VALUE))


def commit_with_marks(digests: StateDigests, commit: Commit) -> Commit:
    """The commit with the digests of the values that it writes."""
    marks = _marks(digests, commit.partition, commit.fields)
    return replace(commit, fields={**commit.fields, **marks}) if marks else commit


def trim_with_marks(digests: StateDigests, trim: OutboxTrim) -> OutboxTrim:
    """The trim with the digests of the values that it writes."""
    marks = _marks(digests, trim.partition, trim.fields)
    guarded = tuple(
        replace(one, fields={**one.fields, **_digests_of(digests, trim.partition, one.fields)})
        for one in trim.guarded
    )
    return replace(trim, fields={**trim.fields, **marks}, guarded=guarded) if marks or guarded else trim


def _marks(digests: StateDigests, partition: int, fields: Mapping[str, str | None]) -> dict[str, str | None]:
    """The digests of the values that have one, and None for that of each value that is removed."""
    removed = {
        f"{MARK_PREFIX}{name}": None for name, text in fields.items() if is_covered(name) and text is None
    }
    written = {name: text for name, text in fields.items() if text is not None}
    return {**removed, **_digests_of(digests, partition, written)}


def _digests_of(digests: StateDigests, partition: int, fields: Mapping[str, str]) -> dict[str, str]:
    return {
        f"{MARK_PREFIX}{name}": digests.value(partition, name, text)
        for name, text in fields.items()
        if is_covered(name)
    }


def check_values(
    digests: StateDigests, partition: int, values: Mapping[str, str], *, has_digests: bool, has_states: bool
) -> None:
    """Check the fabrics and the code of a partition. StateRefused names what was changed. `has_digests` tells
    whether the partition has any other digest, `has_states` whether a service has committed there: then its
    code must be known. Does nothing without any digest: versions before digests wrote none."""
    covered = {name for name in values if is_covered(name)}
    marked = {name.removeprefix(MARK_PREFIX) for name in values if name.startswith(MARK_PREFIX)}
    if not (marked or has_digests):
        return
    expected = covered | marked | ({RULES_VALUE} if has_states else set())
    for name in sorted(expected):
        text = values.get(name)
        if text is None or values.get(f"{MARK_PREFIX}{name}") != digests.value(partition, name, text):
            raise StateRefused(
                f"partition {partition}: {_called(name)} in Redis was changed, added or removed outside of "
                f"the twin, or has another key; {digests.advice}"
            )


def _called(name: str) -> str:
    if name.startswith(REGISTRATION_PREFIX):
        return f"the registration of fabric {name.removeprefix(REGISTRATION_PREFIX)}"
    if name.startswith(LAYOUT_VALUE):
        return f"the state layout of {name.removeprefix(LAYOUT_VALUE)}"
    return {RULES_VALUE: "the number of the rules", SOFTWARE_VALUE: "the build"}.get(name, f"value {name}")
