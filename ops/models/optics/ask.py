"""The strands of a link of the running twin: its OCS as manufactured from the twin's seed, its modules as the
twin's configuration has them."""

import math
from typing import Any

import numpy as np
from pydantic import ValidationError

from ops.common.client import Client, escape
from ops.common.light_path import unmade
from ops.models.optics.budget import Link, Strand
from schemas.config import SuperpodConfig
from services.transceivers.design import design_of
from shared.basics.errors import InvalidInput
from shared.models.optics.fabric_links import lanes_of
from shared.models.optics.made_modules import Lanes
from shared.models.optics.palomar import DECIMALS
from shared.models.optics.strands import check_peer, strands_of
from shared.models.superpod.plant import superpod_plant
from shared.models.superpod.wiring import STRANDS, LinkEnd, link_end, ocs_radix

PATH_FIELDS = ("end", "far_end", "wanted_end", "condition", "far_condition", "strands")


def link_of_twin(client: Client, name: str, to: str | None, warmer_k: float = 0.0) -> Link:
    """The link that the twin has made from this end now, or with `to` the one to that end: as it is where the
    twin wants it, made or not, else as it could be made, with clean connectors and sound modules. The module
    of this end is `warmer_k` warmer than the far one."""
    path = client.thing(f"/v1/trace/{escape(name)}", *PATH_FIELDS)
    with client.reading():
        fabric = str(path["end"]).split("/")[0]
        joined = path["far_end"] or path["wanted_end"]
        why, note = None if path["far_end"] else unmade(path), _note(path)
    config = _config(client, fabric)
    end = link_end(superpod_plant(config.pod.cubes).parse(name).number)
    if to is None and why is not None:
        nearest = joined or LinkEnd(end.cube, end.face ^ 1, end.index).name(fabric)
        raise InvalidInput(f"link {name}: {why}; name an end with --to, such as {nearest}")
    far = _partner(fabric, end, joined if to is None else to, config.pod.cubes)
    design, strands = design_of(config.transceivers), _strands(config, fabric, end, far, warmer_k)
    if to is not None and to != joined:
        return Link(design, strands, name, to, note="a link that could be made, with clean connectors")
    faults = client.rows("/v1/faults", "kind", "target", "state", "severity", fabric=fabric)
    with client.reading():
        near_db, far_db = (_excess_db(faults, one) for one in (name, far.name(fabric)))
        note = note or _left_out(faults, {name, far.name(fabric)})
    return Link(design, strands, name, far.name(fabric), near_db, far_db, note)


def _note(path: dict[str, Any]) -> str | None:
    """Why the link of a path carries nothing now, if so."""
    if path["far_end"] is None:
        return f"{unmade(path)}: this is what the link would receive"
    if "failed" in (path["condition"], path["far_condition"]):
        return "a module has failed: this is what sound ones would receive"
    return None


COUNTED = ("connector", "link", "calibration", "stuck", "late", "lying")
"""Kinds of faults of an end that a budget counts, tells otherwise, or that do nothing to the light."""


def _left_out(faults: list[dict[str, Any]], ends: set[str]) -> str | None:
    """Which faults of these ends a budget does not count, if any."""
    others = [
        f"{fault['kind']} at {fault['target']}"
        for fault in faults
        if fault["state"] == "active" and fault["target"] in ends and fault["kind"] not in COUNTED
    ]
    return f"not counted: {', '.join(others)}" if others else None


def _config(client: Client, fabric: str) -> SuperpodConfig:
    content = client.thing(f"/v1/config/{escape(fabric)}", "kind", "seed", "pod", "ocs", "transceivers")
    if content["kind"] != "superpod":
        raise InvalidInput(
            f"link of {fabric}: a {content['kind']} has no OCS to lose light in; "
            "allowed are links of superpods, or --loss-db of a link of one's own"
        )
    try:
        return SuperpodConfig.model_validate(content)
    except ValidationError as error:
        raise client.foreign(f"its configuration cannot be read: {error.errors()[0]['msg']}") from None


def _partner(fabric: str, end: LinkEnd, to: str, cubes: int) -> LinkEnd:
    part = superpod_plant(cubes).parse(to)
    if part.kind != "end" or part.fabric != fabric:
        nearest = LinkEnd(dict(part.at).get("cube", 0), end.face ^ 1, end.index).name(fabric)
        raise InvalidInput(f"to {to}: not a link end of {fabric}; allowed are ends like {nearest}")
    check_peer(fabric, end.number, part.number)
    return link_end(part.number)


def _strands(
    config: SuperpodConfig, fabric: str, end: LinkEnd, far: LinkEnd, warmer_k: float
) -> tuple[Strand, ...]:
    radix, technology = ocs_radix(config.pod.cubes), config.ocs.technology
    here, there = (
        _lanes(config, fabric, one, other, kelvin)
        for one, other, kelvin in ((end, far, warmer_k), (far, end, -warmer_k))
    )
    switched = strands_of(config.seed, fabric, end.number, far.number, radix, technology)
    found = []
    for strand in range(STRANDS):
        north, south = (end, far) if end.side(strand) == "N" else (far, end)
        found.append(
            Strand(
                round(float(switched.loss_db[strand]), DECIMALS),
                float(switched.near_return_db[strand]),
                float(switched.far_return_db[strand]),
                f"{fabric}/ocs-{end.ocs}",
                north.port,
                south.port,
                here.part(strand),
                there.part(strand),
            )
        )
    return tuple(found)


def _lanes(config: SuperpodConfig, fabric: str, end: LinkEnd, far: LinkEnd, warmer_k: float) -> Lanes:
    """What one end receives from the other, as both modules were made."""
    near, away = (np.asarray(one.number) for one in (end, far))
    return lanes_of(config.seed, fabric, config.pod.cubes, near, away, warmer_k)


def _excess_db(faults: list[dict[str, Any]], end: str) -> float:
    """What all the dirt on one end's connectors adds."""
    dirt = ("connector", end, "active")
    here = [fault for fault in faults if (fault["kind"], fault["target"], fault["state"]) == dirt]
    return math.fsum(fault["severity"] for fault in here)
