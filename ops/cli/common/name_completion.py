"""Parameter types for object names, completed from the running twin."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from schemas.name_parts import local_part
from schemas.resource_kinds import CUBES, DOMAINS, FABRICS, HOSTS, KINDS, OCS, ResourceKind, RowT, find_kind
from shared.models.faults.fault_kinds import FAULTS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMPLETION_TIMEOUT_S = 0.3
"""Maximum wait for the twin during completion."""
COMPLETIONS_MAX = 200
KIND_OF_PART = {
    **{part: kind.word for kind in KINDS.values() for part in kind.parts},
    "chip": HOSTS.word,
    "cable": CUBES.word,
    "port": OCS.word,
}
"""Kind of part → the kind of object that is a prefix of its name."""
TIERS = ("production", "research", "filler")
CHIPS_PER_HOST = 4


class NameParam(click.ParamType):
    """An object's name, of the given kind or of the command's KIND."""

    name = "name"

    def __init__(self, kind: str | None = None, state: str | None = None) -> None:
        self.kind = kind
        self.state = state

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        kind = self.kind or ctx.params.get("kind")
        return _items(list_names(kind, incomplete, self.state), incomplete) if kind else []


class TraceableNameParam(click.ParamType):
    """The name of a link end or a trunk."""

    name = "name"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        return _items(
            [name for kind in ("links", "trunks") for name in list_names(kind, incomplete)], incomplete
        )


class SensorNameParam(click.ParamType):
    """The name of a link end or an OCS."""

    name = "name"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        return _items(
            [name for kind in ("links", "ocs") for name in list_names(kind, incomplete)], incomplete
        )


class KindAndNameParam(click.ParamType):
    """KIND/NAME, such as slice/pod-0/slice-3."""

    name = "object"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        word, slash, name = incomplete.partition("/")
        if not slash:
            return _items([f"{kind.spellings[0]}/" for kind in KINDS.values()], incomplete)
        kind = find_kind(word)
        names = list_names(kind.word, name) if kind is not None else []
        return _items([f"{word}/{name}" for name in names], incomplete)


class MessageOrNameParam(click.ParamType):
    """The id of a message, or the name of an object that has a state; completed with the names."""

    name = "message"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        if "@" in incomplete:
            return []
        kinds = ("slices", "faults", "ocs", "cubes", "repairs", "verdicts")
        return _items([name for kind in kinds for name in list_names(kind, incomplete)], incomplete)


class ForkNameParam(click.ParamType):
    """The name of a fork of this user."""

    name = "fork"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from ops.twin.forks.fork_folders import fork_names
        from shared.basics.errors import LightwaveError

        try:
            return _items(fork_names(), incomplete)
        except LightwaveError:
            return []


class ExperimentParam(click.ParamType):
    """An experiment's file, or the name of a predefined one."""

    name = "experiment"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        from ops.experiments.library import ready

        return _items([name for name, _ in ready()], incomplete) or [CompletionItem(incomplete, type="file")]


class SiteNameParam(click.ParamType):
    """The name of a site of the running twin."""

    name = "site"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        return _items(dict.fromkeys(str(row.site) for row in _rows(FABRICS, None, "site")), incomplete)


class SettingParam(click.ParamType):
    """KEY=VALUE, completed with the parameters of the command's --kind."""

    name = "setting"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from ops.sites.configuration import DEFAULT_KIND, parameters

        kind = ctx.params.get("kind") or DEFAULT_KIND
        return _items(_settings([row.name for row in parameters(kind)], incomplete), incomplete)


class RuntimeSettingParam(click.ParamType):
    """KEY=VALUE, completed with the runtime parameters."""

    name = "setting"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from schemas.config.runtime_parameters import RUNTIME_PARAMETERS

        return _items(_settings(RUNTIME_PARAMETERS, incomplete), incomplete)


class PartNameParam(click.ParamType):
    """The name of a part: OCSes and cubes first, and after the name of one, the parts in it."""

    name = "part"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        whole_ones = ("ocs", "cubes", "blocks", "racks", "domains")
        kinds = ("hosts", "links", "bundles") if incomplete.count("/") > 1 else whole_ones
        if kinds[0] == "hosts" and incomplete.split("/")[1].startswith("ocs-"):
            return _items(_ports(incomplete), incomplete)
        return _items([name for kind in kinds for name in list_names(kind, incomplete)], incomplete)


class FaultTargetParam(click.ParamType):
    """A target for a fault of the command's KIND."""

    name = "target"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        fault = str(ctx.params.get("kind"))
        part = next((row.strikes for kind, row in FAULTS.items() if kind == fault), None)
        names = list_names(KIND_OF_PART[part], incomplete) if part is not None else []
        if part == "chip":
            names = [f"{name}/chip-{chip}" for name in names for chip in range(CHIPS_PER_HOST)]
        elif part == "cable":
            from shared.models.superpod.cables import CABLES_PER_CUBE

            names = [f"{name}/cable-{cable}" for name in names for cable in range(CABLES_PER_CUBE)]
        elif part == "port":
            names = [f"{name}/{side}" for name in names for side in "NS"]
        elif part in DOMAINS.parts:
            names = [name for name in names if local_part(name).startswith(f"{part}-")]
        return _items(names, incomplete)


def list_names(kind: str, incomplete: str = "", state: str | None = None) -> list[str]:
    """The names of all objects of a kind, or of the fabric that is typed; none if no twin answers in time."""
    if kind not in KINDS:
        return []
    fabric, slash, _ = incomplete.partition("/")
    return [str(row.name) for row in _rows(KINDS[kind], fabric if slash else None, "name", state=state)]


def _ports(incomplete: str) -> list[str]:
    """The ports of the OCS whose name is typed."""
    fabric, ocs = incomplete.split("/")[:2]
    name = f"{fabric}/{ocs}"
    radix = next((int(row.radix) for row in _rows(OCS, fabric, "name", "radix") if row.name == name), 0)
    return [f"{name}/{side}{port}" for side in "NS" for port in range(radix)]


def _rows(kind: ResourceKind[RowT], fabric: str | None, *fields: str, state: str | None = None) -> list[RowT]:
    from ops.client.http_client import Client, rows_path
    from shared.basics.errors import LightwaveError

    try:
        return Client(timeout_s=COMPLETION_TIMEOUT_S).rows(
            rows_path(kind), *fields, fabric=fabric, state=state
        )
    except LightwaveError:
        return []


def _settings(names: Iterable[str], incomplete: str) -> list[str]:
    """KEY= of these parameters, or KEY=VALUE with the values that a parameter can have, if they are few."""
    from schemas.config.fabric_configs import CONFIGS
    from schemas.config.parameter import literal_values, parameters_of, value_types

    name, equals, _ = incomplete.partition("=")
    if not equals:
        return [f"{one}=" for one in names]
    fields = [found[name] for model in CONFIGS.values() if name in (found := parameters_of(model))]
    words = [word for field in fields[:1] for word in literal_values(field)]
    words += ["true", "false"] if any(bool in value_types(field) for field in fields[:1]) else []
    return [f"{name}={word}" for word in words]


def _items(names: Iterable[str], incomplete: str) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in names if name.startswith(incomplete)][:COMPLETIONS_MAX]
