"""Which texts a field can have in a twin: words of a closed set, names of objects that can exist, and owners.

A filter with another text can never match, so it is refused, with the nearest word or name. Whatever a row
has now is allowed. Sentences such as reasons, comments and evidence can have any text.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

from schemas.config.fabric_configs import CONFIGS
from schemas.config.owners import known_owners
from schemas.config.pods import AnyPodConfig
from schemas.messages.cubes import HostDown
from schemas.messages.failures import FaultEnded
from schemas.messages.topology import PlanReason, RewiringOutcome
from schemas.name_parts import fabric_part
from schemas.names import PORTS_MAX
from schemas.recovery_policy import RECOVERY_ALLOWED, parse_recovery_policy
from schemas.resource_kinds import (
    BLOCKS,
    BUNDLES,
    CUBES,
    DEMANDS,
    DRILLS,
    FABRICS,
    FAULTS,
    HOSTS,
    KINDS,
    LINKS,
    OCS,
    RACKS,
    REPAIRS,
    REWIRINGS,
    SCHEDULES,
    SLICES,
    TRUNKS,
    VERDICTS,
)
from services.gateway.fabrics import (
    commissioned_fabrics,
    config_of,
    fabric_plant,
    has_resource,
    is_fabric_like,
    sites,
)
from services.gateway.resources.field_bounds import largest_of
from services.gateway.resources.field_values import RowField, short_name
from services.gateway.runtime_ports import KindView, TwinPorts
from services.gateway.text.not_found import no_such_name_error
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated
from shared.models.faults.fault_kinds import FAULTS as FAULT_ROWS
from shared.models.plant.plant_format import Plant

WORDS_SHOWN_MAX = 60
"""Maximum number of words that an error lists."""
ANY_PART = "any part"
PAIRS = (TRUNKS.word, DEMANDS.word)
_PAIR = re.compile(r"block-(?P<one>0|[1-9][0-9]{0,5})/(?:trunk|demand)-(?P<other>0|[1-9][0-9]{0,5})")
_PORT = re.compile(r"[NS](0|[1-9][0-9]{0,3})")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_WINDOW = re.compile(r"[0-2][0-9]:[0-5][0-9]-[0-2][0-9]:[0-5][0-9]")


def _owners(twin: TwinPorts) -> list[str]:
    """The owners of all pods."""
    configs = [config_of(twin, fabric) for fabric in commissioned_fabrics(twin)]
    found = {
        owner for config in configs if isinstance(config, AnyPodConfig) for owner in known_owners(config)
    }
    return sorted(found, key=lambda owner: (len(owner), owner))


WORDS: Mapping[tuple[str, str], Callable[[TwinPorts], Iterable[str]]] = {
    (FABRICS.word, "kind"): lambda _: CONFIGS,
    (FABRICS.word, "site"): sites,
    (FAULTS.word, "how"): lambda _: get_args(FaultEnded.model_fields["how"].annotation),
    (FAULTS.word, "unit"): lambda _: {row.severity.unit for row in FAULT_ROWS.values() if row.severity},
    (HOSTS.word, "reason"): lambda _: get_args(HostDown.model_fields["reason"].annotation),
    (REWIRINGS.word, "reason"): lambda _: get_args(PlanReason),
    (REWIRINGS.word, "outcome"): lambda _: get_args(RewiringOutcome),
    (SLICES.word, "owner"): _owners,
    (BLOCKS.word, "customer"): lambda _: (),
    (BLOCKS.word, "modules"): lambda _: (),
    (BLOCKS.word, "pod"): lambda _: (),
}
"""(word of a kind, field) → the words that it can have, besides those that rows have now. Blocks keep their
customer, modules and pod, so they can have no others."""
NAMES: Mapping[tuple[str, str], str] = {
    **{(word, "name"): word for word in KINDS},
    **{(kind.word, "target"): ANY_PART for kind in (FAULTS, REPAIRS, VERDICTS)},
    (CUBES.word, "slices"): SLICES.word,
    (CUBES.word, "reasons"): ANY_PART,
    (LINKS.word, "far_end"): LINKS.word,
    (LINKS.word, "ocs"): OCS.word,
    (LINKS.word, "slice"): SLICES.word,
    (SLICES.word, "cubes"): CUBES.word,
    (SLICES.word, "job"): SLICES.word,
    (VERDICTS.word, "ends"): LINKS.word,
    (VERDICTS.word, "batch"): ANY_PART,
    (REPAIRS.word, "verdict"): VERDICTS.word,
    (TRUNKS.word, "blocks"): BLOCKS.word,
    (DEMANDS.word, "source"): BLOCKS.word,
    (DEMANDS.word, "target"): BLOCKS.word,
    (BUNDLES.word, "block"): BLOCKS.word,
    (BUNDLES.word, "rack"): RACKS.word,
    (BLOCKS.word, "bundles_down"): BUNDLES.word,
    (RACKS.word, "control"): ANY_PART,
    (RACKS.word, "power"): ANY_PART,
    (FAULTS.word, "drill"): DRILLS.word,
    (DRILLS.word, "active_faults"): FAULTS.word,
    (DRILLS.word, "schedule"): SCHEDULES.word,
    (SCHEDULES.word, "drill"): DRILLS.word,
    (SCHEDULES.word, "last_drill"): DRILLS.word,
}
"""(word of a kind, field) → the kind of the objects that it names."""
FORMS: Mapping[tuple[str, str], tuple[re.Pattern[str], str]] = {
    **{
        (kind.word, "document_sha256"): (_SHA256, "must be 64 of the digits 0 to 9 and a to f")
        for kind in (DRILLS, SCHEDULES)
    },
    (SCHEDULES.word, "between"): (_WINDOW, "must be a window of the day, such as 09:00-16:00"),
}
"""(word of a kind, field) → (the form of its texts, and that in words)."""
SHOWN_WORDS: Mapping[tuple[str, str], tuple[str, ...]] = {(CUBES.word, "reasons"): ("no power", "too hot")}
"""Words that a table shows among the names."""
LOCAL_PARTS: Mapping[tuple[str, str], str] = {
    (OCS.word, "parts_down"): "ocs-0/{}",
    (BLOCKS.word, "bundles_down"): "block-0/{}",
}
"""(word of a kind, field) → a part of the fabric whose parts may be named without it."""
PORT_FIELDS = frozenset({"ports_down", "ports_dead"})


@dataclass(frozen=True)
class TextValues:
    """Checks the texts of filters of the rows of one kind. With `fabric`, rows are of this fabric alone."""

    twin: TwinPorts
    view: KindView[Any, Any]
    fabric: str | None = None

    def __call__(self, field: RowField, text: str) -> None:
        """Raise InvalidInput if the field can never have this text."""
        name = field.name.lower().replace("-", "_")
        place = (self.view.kind.word, name)
        problem = self._problem(place, text)
        if problem is not None and not self._is_in_a_row(field, text):
            raise field.refusal(text, problem)

    def most(self, name: str) -> int | None:
        """The highest number that a field can have in the fabrics of the rows, by their size; None if that
        does not bound it."""
        fabrics = self._fabrics if self.fabric is None else [self.fabric]
        return largest_of(self.view.kind.word, name, map(self._plant, fabrics))

    def _problem(self, place: tuple[str, str], text: str) -> str | None:
        """Why a field cannot have a text; None if it can, or if it can have any."""
        if text in SHOWN_WORDS.get(place, ()):
            return None
        if place in WORDS:
            fixed = [*WORDS[place](self.twin)]
            if text in fixed:
                return None
            words = [*dict.fromkeys([*fixed, *self._words_of_rows(place[1])])]
            return None if text in words else _one_of(text, words)
        if place in FORMS:
            form, allowed = FORMS[place]
            return None if form.fullmatch(text) else allowed
        if place == (SLICES.word, "recovery"):
            return _recovery_problem(text)
        if place[0] == OCS.word and place[1] in PORT_FIELDS:
            port = _PORT.fullmatch(text)
            is_port = port is not None and int(port[1]) < PORTS_MAX
            return None if is_port else f"must be a port from N0 to S{PORTS_MAX - 1}, such as N24"
        local = LOCAL_PARTS.get(place)
        if local is not None and any(
            self._plant(fabric).contains(f"{fabric}/{local.format(text)}") for fabric in self._fabrics
        ):
            return None
        if place == (OCS.word, "parts_down"):
            return "must be a part of an OCS, such as supply-1"
        return self._name_problem(NAMES[place], text) if place in NAMES else None

    def _name_problem(self, word: str, text: str) -> str | None:
        first = fabric_part(text)
        if word == FABRICS.word or (word == ANY_PART and text in self._fabrics):
            return None if text in self._fabrics else _one_of(text, self._fabrics)
        is_full = "/" in text and is_fabric_like(self.twin, first)
        if is_full and first not in self._fabrics:
            return f"no such fabric {truncated(repr(first))}; must be one of {', '.join(self._fabrics)}"
        fabrics = [first] if is_full else [self.fabric] if self.fabric is not None else self._fabrics
        names = {fabric: text if is_full else f"{fabric}/{text}" for fabric in fabrics}
        if any(self._can_exist(word, fabric, name) for fabric, name in names.items()):
            return None
        return self._absence(word, names)

    def _can_exist(self, word: str, fabric: str, name: str) -> bool:
        """Whether a fabric has a part of this name, or can have an object that is not hardware."""
        plant, local = self._plant(fabric), name.removeprefix(f"{fabric}/")
        if word == ANY_PART:
            return plant.contains(name)
        kind = KINDS[word]
        if kind.parts:
            return plant.contains(name) and plant.parse(name).kind in kind.parts
        if word in PAIRS:
            pair = _PAIR.fullmatch(local)
            if pair is None or f"/{kind.title}-" not in local:
                return False
            one, other = int(pair["one"]), int(pair["other"])
            return one != other and max(one, other) < plant.population("block")
        has_form = re.fullmatch(rf"{kind.title}-(0|[1-9][0-9]{{0,17}})", local) is not None
        return has_form and has_resource(self.twin, fabric, kind)

    def _absence(self, word: str, names: Mapping[str, str]) -> str:
        """What is wrong with a name, as `describe` reports it."""
        if word == ANY_PART:
            fabric = next(iter(names))
            try:
                self._plant(fabric).parse(names[fabric])
            except InvalidInput as error:
                return str(error).partition(" is not allowed: ")[2] or str(error).rpartition("; ")[2]
            return "must be a part of this fabric"
        kind = KINDS[word]
        if not kind.parts and word not in PAIRS:
            found = [fabric for fabric in self._fabrics if has_resource(self.twin, fabric, kind)]
            return f"must be a name like {(found or self._fabrics)[0]}/{kind.title}-3"
        part = kind.parts[0] if kind.parts else "block"
        with_parts = [fabric for fabric in names if self._plant(fabric).population(part)]
        fabric = (with_parts or list(names))[0]
        sentence = str(no_such_name_error(kind, names[fabric], fabric, self._plant(fabric)))
        return sentence.removeprefix(f"{sentence.partition(': ')[0]}: ")

    def _is_in_a_row(self, field: RowField, text: str) -> bool:
        now_us = self.twin.clock.show().now_us
        for row in self._rows:
            value = field.value(row, now_us)
            items = value if isinstance(value, tuple) else (value,)
            if any(text in (item, short_name(item)) for item in items):
                return True
        return False

    def _words_of_rows(self, name: str) -> list[str]:
        return sorted({value for row in self._rows if (value := getattr(row, name)) is not None})

    @cached_property
    def _fabrics(self) -> list[str]:
        return commissioned_fabrics(self.twin)

    @cached_property
    def _rows(self) -> Sequence[Any]:
        """The rows that there are now, also those of retired fabrics."""
        fabrics = self._fabrics if self.fabric is None else [self.fabric]
        return [row for fabric in fabrics for row in self.view.listing(self.twin, fabric)]

    def _plant(self, fabric: str) -> Plant:
        return fabric_plant(self.twin, fabric)


def _one_of(text: str, words: Sequence[str]) -> str:
    """What a word must be, with the nearest one."""
    if not words:
        return "must be null, because none has a value"
    others = f" or another of {len(words)}" if len(words) > WORDS_SHOWN_MAX else ""
    listed = ", ".join(words[:WORDS_SHOWN_MAX])
    return f"must be one of {listed}{others}{closest_match_hint(text, words)}"


def _recovery_problem(text: str) -> str | None:
    try:
        parse_recovery_policy(text)
    except ValueError:
        return f"must be {RECOVERY_ALLOWED}"
    return None
