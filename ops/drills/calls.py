"""A call of a verb in a document: its provider, and its arguments with variables replaced."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ops.drills.fields import Field
from ops.drills.variables import Scope, TargetUse
from schemas.drill_plan import BEGAN_MARK, DRAWN_MAX, NAME_PATTERN, PlannedTarget
from schemas.fabric_names import FABRIC_NAMING
from schemas.name_parts import fabric_part
from schemas.names import FabricName
from schemas.resource_kinds import kind_by_name_form
from services.gateway.explain.condition_language import ConditionReader, read_condition
from services.gateway.resources.kind_views import FABRICS, OF_NETWORKS, OF_PODS
from services.gateway.runtime_ports import KindView
from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated

VERBS_MODULE = "ops.drills.verbs"
VIEWS: dict[str, KindView[Any, Any]] = {view.kind.word: view for view in (*OF_PODS, *OF_NETWORKS, FABRICS)}
_RANGE = re.compile(r"\[([0-9]{1,6}(?:-[0-9]{1,6})?(?:,[0-9]{1,6}(?:-[0-9]{1,6})?)*)\]")
_FABRIC = TypeAdapter[str](FabricName)
_FIRST_WORDS = frozenset().union(*(naming.first_words for naming in FABRIC_NAMING.values()))
"""The first words of names of resources that lack their fabric."""
_PLAN_NAME = re.compile(NAME_PATTERN)


@dataclass
class DrillContext:
    """What the calls of a document share: its variables, its targets, and the fabric that it is about."""

    scope: Scope
    fabric: str
    listed: list[PlannedTarget] = field(default_factory=list)
    """Targets of names that steps list."""

    def check_condition(self, source: Field, text: str, fabric: str) -> None:
        """Raise InvalidInput at `source` unless this is a condition. Only the twin can check
        whether its objects exist."""
        sample = self.scope.with_examples(text.replace(BEGAN_MARK, "0"))
        if (mark := re.search(r"\{([^{}]*)\}", sample)) is not None:
            known = ", ".join(self.scope.targets) or "there is none"
            raise source.error(f"no such target {truncated(repr(mark[0]))}; must be one of: {known}")
        reader = ConditionReader(
            fabric,
            lambda _, name: name if is_fabric_name(fabric_part(name)) else f"{fabric}/{name}",
            VIEWS,
            0,
            allow_clock_fields=True,
        )
        try:
            read_condition(sample, reader)
        except InvalidInput as error:
            raise source.error(str(error)) from None

    def each_of(self, source: Field, texts: list[str], *, several: bool = True) -> str | None:
        """The only target in these texts; None without one. Raise InvalidInput at `source` for more."""
        found = list(dict.fromkeys(name for text in texts for name in self.scope.marks(text)))
        if len(found) > 1:
            raise source.error(f"uses the targets {' and '.join(found)}; must use only one")
        if found and not several and self.scope.targets[found[0]].choose != 1:
            raise source.error(f"uses the target {found[0]}, which can be several resources; must be one")
        return found[0] if found else None


def is_fabric_name(text: str) -> bool:
    """Whether a text has the form of a fabric's name."""
    try:
        _FABRIC.validate_python(text)
    except ValidationError:
        return False
    return text.rpartition("-")[0] not in _FIRST_WORDS


def plan_name(source: Field) -> str:
    """The name of an activity or a target."""
    allowed = "1 to 64 lowercase letters, digits, hyphens and underscores, such as the-switch-dies"
    text = source.text(allowed, most=1_000)
    if not _PLAN_NAME.fullmatch(text):
        raise source.refused(allowed)
    return text


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a verb: the name of its activity, its provider, and its arguments."""

    name: str
    provider: Field
    verb: str
    arguments: Mapping[str, Field]
    context: DrillContext

    def has(self, name: str) -> bool:
        """Whether an argument is given."""
        return name in self.arguments

    def only_one_of(self, *names: str) -> str:
        """The one argument of these that is given; raise InvalidInput unless it is exactly one."""
        given = [name for name in names if name in self.arguments]
        if len(given) != 1:
            found = f"has {' and '.join(given)}" if given else "has none of them"
            raise self.provider.error(f"{self.verb} {found}; must have one of {', '.join(names)}")
        return given[0]

    def fabric(self) -> str:
        """The argument `fabric`, or the fabric of the document."""
        return fabric_of(self.arguments["fabric"]) if self.has("fabric") else self.context.fabric

    def duration_us(self, name: str) -> int | None:
        """A duration; None if it is not given."""
        return self.arguments[name].duration_us() if self.has(name) else None

    def parts(self, name: str) -> tuple[str, str, str]:
        """(name or `{TARGET}` in a template, an example of a name, fabric) of an argument that names one
        resource or several: a list, or `cube-[0-7]`. Several are a target of the plan."""
        source = self.arguments[name]
        listed = source.items("names", 1, DRAWN_MAX) if isinstance(source.raw, list) else [source]
        names = [one for item in listed for one in _expanded(item, full_name(item))]
        if len(set(names)) < len(names):
            twice = next(one for one in names if names.count(one) > 1)
            raise source.error(f"{truncated(repr(twice))} is given twice; leave one of them out")
        if len(names) == 1:
            example = self.context.scope.with_examples(names[0])
            return names[0], example, fabric_part(example)
        if any(self.context.scope.marks(one) for one in names):
            raise source.error("has a drawn target among several names; must have only names")
        fabrics = list(dict.fromkeys(fabric_part(one) for one in names))
        if len(fabrics) > 1:
            raise source.error(f"has parts of {' and '.join(fabrics)}; must have parts of one fabric")
        if len(names) > DRAWN_MAX:
            raise source.error(f"has {len(names):,} names; must have at most {DRAWN_MAX}")
        kind = kind_by_name_form(names[0])
        target = PlannedTarget(
            name=f"of-{self.name}"[:64].rstrip("-_"),
            kind=kind.word if kind else "parts",
            fabric=fabrics[0],
            choose="all",
            names=tuple(names),
        )
        if target.name in self.context.scope.targets:
            raise source.error(
                f"a target has the name {target.name} already; rename the activity {self.name}"
            )
        self.context.listed.append(target)
        self.context.scope.targets[target.name] = use_of(target)
        return f"{{{target.name}}}", names[0], fabrics[0]


def fabric_of(source: Field) -> str:
    """A value that names a fabric."""
    text = source.text("the name of a fabric, such as pod-0")
    if not is_fabric_name(text):
        raise source.refused("the name of a fabric, such as pod-0")
    return text


def full_name(source: Field) -> str:
    """A value that names a resource with its fabric in front; it may have ranges and targets."""
    allowed = "a name with its fabric in front, such as pod-0/ocs-17"
    text = source.text(allowed, most=200)
    if not (text.startswith("{") or is_fabric_name(fabric_part(text))):
        raise source.refused(allowed)
    return text


def expand_ranges(text: str) -> list[str]:
    """The names of a text with ranges: `cube-[0-2]` is cube-0, cube-1 and cube-2. Raises InvalidInput for a
    range that falls, and for too many names."""
    choices: list[list[str]] = []
    total = 1
    for number, piece in enumerate(_RANGE.split(text)):
        if number % 2 == 0:
            choices.append([piece])
            continue
        found: list[str] = []
        for word in piece.split(","):
            first, _, last = word.partition("-")
            low, high = int(first), int(last or first)
            if high < low or high - low >= DRAWN_MAX:
                raise InvalidInput(f"the range [{word}] is not allowed; must rise, by less than {DRAWN_MAX}")
            found += [str(one) for one in range(low, high + 1)]
        total *= len(found)
        if total > DRAWN_MAX:
            raise InvalidInput(f"{truncated(repr(text))} has too many names; must have at most {DRAWN_MAX}")
        choices.append(found)
    return ["".join(one) for one in product(*choices)]


def _expanded(source: Field, text: str) -> list[str]:
    try:
        return expand_ranges(text)
    except InvalidInput as error:
        raise source.error(str(error)) from None


def use_of(target: PlannedTarget) -> TargetUse:
    """A target as its users see it."""
    sample = target.names[0] if target.names else None
    return TargetUse(target.name, target.kind, target.fabric, target.choose, sample)
