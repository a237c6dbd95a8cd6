"""The configuration of a drill document: `${name}` in its values, `--var NAME=VALUE`, and drawn targets.

A variable with the name of a target is its default for `chaos run`. In the plan it is the drawn resource,
written `{NAME}`, whose full name the engine puts in its place. `--var` with the name of a target
fixes it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ops.drills.fields import Field
from ops.report.safe_text import quoted
from schemas.resource_kinds import find_kind
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput
from shared.basics.value_words import read_flag, read_number, read_whole

Scalar = bool | int | float | str
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_USE = re.compile(r"\$\{([^}]*)\}|\$")
_MARK = re.compile(r"\{([^{}]*)\}")
VARIABLES_MAX, VALUES_MAX, TEXT_MAX = 100, 1_000, 2_000
"""Maximum numbers of variables, of values in a list, and of characters of a text with variables in it: a
short document must not become gigabytes."""
EXAMPLES = {
    "fabrics": "",
    "ocs": "ocs-0",
    "cubes": "cube-0",
    "hosts": "cube-0/host-0",
    "links": "cube-0/+x/0",
    "slices": "slice-0",
    "blocks": "block-0",
    "trunks": "block-0/trunk-1",
    "demands": "block-0/demand-1",
    "rewirings": "rewiring-0",
    "racks": "rack-0",
    "bundles": "block-0/bundle-0",
    "domains": "power-0",
    "faults": "fault-0",
    "verdicts": "verdict-0",
    "repairs": "repair-0",
}
"""Kind of resource → the name of one without its fabric, which stands for a drawn one while a document is
checked."""


@dataclass(frozen=True, slots=True)
class TargetUse:
    """A target as its users see it."""

    name: str
    kind: str
    fabric: str
    choose: int | str = 1
    sample: str | None = None
    """One of its names, if they are fixed."""

    @property
    def example(self) -> str:
        """A full name that a drawn resource can have."""
        if self.sample is not None:
            return self.sample
        kind = find_kind(self.kind)
        local = EXAMPLES.get(kind.word if kind else "", "cube-0")
        return f"{self.fabric}/{local}" if local else self.fabric


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables and targets of a document."""

    values: Mapping[str, Scalar]
    targets: dict[str, TargetUse]

    def resolve(self, field: Field) -> Field:
        """The value with all variables replaced, also in lists and mappings."""
        if isinstance(field.raw, str):
            return field.with_raw(self._text(field, field.raw))
        if isinstance(field.raw, list):
            if len(field.raw) > VALUES_MAX:
                raise field.error(f"has {len(field.raw):,} values; must have at most {VALUES_MAX:,}")
            return field.with_raw([self.resolve(field.child(n, one)).raw for n, one in enumerate(field.raw)])
        if isinstance(field.raw, dict):
            found = {key: self.resolve(field.child(key, one)).raw for key, one in field.raw.items()}
            return field.with_raw(found)
        return field

    def _text(self, field: Field, text: str) -> object:
        whole = _USE.fullmatch(text)
        if whole is not None and whole[1] is not None and whole[1] not in self.targets:
            return self._value(field, whole[1])
        found, at = "", 0
        for use in _USE.finditer(text):
            found += text[at : use.start()]
            if len(found) > TEXT_MAX:
                raise field.error(
                    f"has more than {TEXT_MAX:,} characters with its variables; must have fewer"
                )
            at = use.end()
            name = use[1]
            if name is None:
                raise field.error(f"{quoted(text)} has a $ without a name; must be ${{name}}")
            if name in self.targets:
                fabric = f"{self.targets[name].fabric}/"
                if "/" not in str(self.values.get(name, "")):  # a full name replaces a short one
                    found = found.removesuffix(fabric)
                found += f"{{{name}}}"
            else:
                value = self._value(field, name)
                found += str(value).lower() if isinstance(value, bool) else str(value)
        return found + text[at:]

    def _value(self, field: Field, name: str) -> Scalar:
        if name not in self.values:
            known = [*self.values, *(one for one in self.targets if one not in self.values)]
            must = f"must be one of {', '.join(known)}" if known else "the document has no configuration"
            raise field.error(f"no such variable ${{{name}}}; {must}{closest_match_hint(name, known)}")
        return self.values[name]

    def marks(self, text: str) -> list[str]:
        """The targets in a text, each once."""
        return list(dict.fromkeys(name for name in _MARK.findall(text) if name in self.targets))

    def with_examples(self, text: str) -> str:
        """The text with the name of a possible resource in place of each target."""
        return _MARK.sub(
            lambda mark: self.targets[mark[1]].example if mark[1] in self.targets else mark[0], text
        )


def read_variables(configuration: Field | None, given: Mapping[str, str]) -> dict[str, Scalar]:
    """The variables of a document. Texts of `given` replace its values, with the type of the default."""
    found: dict[str, Scalar] = {}
    fields = configuration.mapping() if configuration is not None else {}
    if configuration is not None and len(fields) > VARIABLES_MAX:
        raise configuration.error(f"has {len(fields):,} variables; must have at most {VARIABLES_MAX}")
    for name, field in fields.items():
        if not _NAME.fullmatch(name):
            raise field.error("must have a name of letters, digits and underscores")
        if isinstance(field.raw, dict):
            raise field.error("a value from the environment is understood by `chaos run` only; use --var")
        if not isinstance(field.raw, Scalar):
            raise field.refused("text, a number, true or false")
        found[name] = field.raw
    for name, text in given.items():
        if name not in found:
            hint = closest_match_hint(name, found)
            must = f"must be one of {', '.join(found)}" if found else "the document has no configuration"
            raise InvalidInput(f"--var {quoted(name)}: no such variable; {must}{hint}")
        found[name] = _typed(name, text, found[name])
    return found


def parse_variables(words: Sequence[str]) -> dict[str, str]:
    """Name → text of the options `--var NAME=VALUE`."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise InvalidInput(f"--var {quoted(word)}: must be NAME=VALUE, such as ocs=ocs-17")
        if name in found:
            raise InvalidInput(f"--var {quoted(word)}: {name} is given twice; leave one of them out")
        found[name] = text
    return found


def _typed(name: str, text: str, default: Scalar) -> Scalar:
    """A text with the type of the default."""
    if isinstance(default, str):
        return text
    found: Scalar | None
    if isinstance(default, bool):
        found, must = read_flag(text), "true or false"
    elif isinstance(default, int):
        found, must = read_whole(text), "a whole number"
    else:
        found, must = read_number(text), "a number"
    if found is None:
        raise InvalidInput(f"--var {name}={quoted(text)}: is not allowed; must be {must}")
    return found
