"""The strands of a link of the running twin: its OCS as manufactured from the twin's seed, its modules as the
twin's configuration has them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import ValidationError

from ops.client.http_client import Client, escape_path
from ops.models.optics.link_report import LinkCase, StrandCase
from ops.report.light_path_text import unmade_reason
from schemas.config.pods import SuperpodConfig
from schemas.documents.pods import EndImpairment
from shared.basics.errors import InvalidInput
from shared.models.ocs.patches import Patches, place_of
from shared.models.optics.impairments import SOUND, ImpairedEnds, Impairment, changed_lanes
from shared.models.optics.link_design import design_of
from shared.models.optics.manufactured_modules import (
    Lanes,
    ManufacturedModules,
    lanes_between,
    manufacture_modules,
    manufactured_modules,
)
from shared.models.optics.ocs_strands import check_peer, strands_of
from shared.models.optics.palomar import DECIMALS
from shared.models.superpod.superpod_plant import superpod_plant
from shared.models.superpod.wiring import ENDS_PER_CUBE, STRANDS, LinkEnd, link_end, ocs_radix
from shared.models.telemetry.installed_modules import with_rows

PATH_FIELDS = ("end", "far_end", "wanted_end", "condition", "far_condition", "strands")


def link_of_twin(client: Client, name: str, to: str | None, warmer_k: float = 0.0) -> LinkCase:
    """The link that the twin has made from this end now, or with `to` the one to that end: as it is where the
    twin wants it, made or not, with all that is wrong with its light; else as it could be made, with clean
    connectors and sound modules. The module of this end is `warmer_k` warmer than the far one."""
    path = client.resource(f"/v1/trace/{escape_path(name)}", *PATH_FIELDS)
    with client.reading():
        fabric = str(path["end"]).split("/")[0]
        joined = path["far_end"] or path["wanted_end"]
        why, note = None if path["far_end"] else unmade_reason(path), _dark_note(path)
    config = _config(client, fabric)
    end = link_end(superpod_plant(config.pod.cubes).parse(name).number)
    if to is None and why is not None:
        nearest = joined or LinkEnd(end.cube, end.face ^ 1, end.index).name(fabric)
        raise InvalidInput(f"link {name}: {why}; name an end with --to, such as {nearest}")
    far = _partner(fabric, end, joined if to is None else to, config.pod.cubes)
    if to is not None and to != joined:
        path, note = {}, "a link that could be made, with clean connectors"
    made = _modules_at(config, fabric, _generations(client, fabric, (end, far), path))
    with client.reading():
        impairments = (_impairment(path.get("impairment")), _impairment(path.get("far_impairment")))
        patched = _patched(end.ocs, path.get("strands", ()))
    return LinkCase(
        design_of(config.transceivers),
        _strands(config, fabric, (end, far), impairments, patched, made, warmer_k),
        name,
        far.name(fabric),
        impairments[0].dirt_db,
        impairments[1].dirt_db,
        note,
        *impairments,
    )


def _impairment(reported: dict[str, Any] | None) -> Impairment:
    """What is wrong with the light of an end, as a path tells it."""
    if reported is None:
        return SOUND
    found = EndImpairment.model_validate(reported, strict=False)
    return Impairment(**{name: value for name, value in found if name != "end"})


def _patched(ocs: int, strands: Sequence[dict[str, Any]]) -> Patches:
    """Where the fibres of a path are that are not at their ports."""
    return {
        place_of(side, ocs, strand[word]): strand[f"{word}_spare"]
        for strand in strands
        for side, word in enumerate(("north", "south"))
        if strand.get(f"{word}_spare") is not None
    }


def _dark_note(path: dict[str, Any]) -> str | None:
    """Why the link of a path carries nothing now, if so."""
    if path["far_end"] is None:
        return f"{unmade_reason(path)}: this is what the link would receive"
    if "failed" in (path["condition"], path["far_condition"]):
        return "a module has failed: this is what sound ones would receive"
    if any((path.get(which) or {}).get("unpowered") for which in ("impairment", "far_impairment")):
        return "a cube is without power: this is what the link would receive"
    if any((path.get(which) or {}).get("worked_on") for which in ("impairment", "far_impairment")):
        return "a technician has an end in hand: this is what the link would receive"
    return None


def _config(client: Client, fabric: str) -> SuperpodConfig:
    content = client.resource(
        f"/v1/config/{escape_path(fabric)}", "kind", "seed", "pod", "ocs", "transceivers"
    )
    if content["kind"] != "superpod":
        raise InvalidInput(
            f"link of {fabric}: a {content['kind']} has no OCSes; "
            "must be a link of a superpod, or use --loss-db"
        )
    try:
        return SuperpodConfig.model_validate(content)
    except ValidationError as error:
        raise client.not_a_twin(f"its configuration cannot be read: {error.errors()[0]['msg']}") from None


def _partner(fabric: str, end: LinkEnd, to: str, cubes: int) -> LinkEnd:
    part = superpod_plant(cubes).parse(to)
    if part.kind != "end" or part.fabric != fabric:
        nearest = LinkEnd(dict(part.at).get("cube", 0), end.face ^ 1, end.index).name(fabric)
        raise InvalidInput(f"to {to}: not a link end of {fabric}; must be a link end such as {nearest}")
    check_peer(fabric, end.number, part.number)
    return link_end(part.number)


def _strands(
    config: SuperpodConfig,
    fabric: str,
    ends: tuple[LinkEnd, LinkEnd],
    impairments: tuple[Impairment, Impairment],
    patched: Patches,
    made: ManufacturedModules,
    warmer_k: float,
) -> tuple[StrandCase, ...]:
    """Of the link between the near end and the far one, with what is wrong with the light of each."""
    end, far = ends
    radix, technology = ocs_radix(config.pod.cubes), config.ocs.technology
    here = _lanes(made, ends, impairments, warmer_k)
    there = _lanes(made, (far, end), (impairments[1], impairments[0]), -warmer_k)
    switched = strands_of(config.seed, fabric, end.number, far.number, radix, technology, patched)
    found = []
    for strand in range(STRANDS):
        north, south = (end, far) if end.side(strand) == "N" else (far, end)
        found.append(
            StrandCase(
                round(float(switched.loss_db[strand]), DECIMALS),
                float(switched.near_return_db[strand]),
                float(switched.far_return_db[strand]),
                f"{fabric}/ocs-{end.ocs}",
                north.port,
                south.port,
                impairments[0].lost_db[strand],
                impairments[1].lost_db[strand],
                here.part(strand),
                there.part(strand),
            )
        )
    return tuple(found)


def _generations(
    client: Client, fabric: str, ends: tuple[LinkEnd, LinkEnd], path: Mapping[str, Any]
) -> dict[int, int | None]:
    """Of the modules at both ends of a path; of one that is not made, as the list of links has them."""
    if path:
        reported = (path.get("generation"), path.get("far_generation"))
    else:
        rows = [client.resource(f"/v1/links/{escape_path(end.name(fabric))}", "name") for end in ends]
        reported = (rows[0].get("generation"), rows[1].get("generation"))
    return {end.number: generation for end, generation in zip(ends, reported, strict=True)}


def _modules_at(
    config: SuperpodConfig, fabric: str, generations: Mapping[int, int | None]
) -> ManufacturedModules:
    """The modules of a fabric, at these ends those of these generations."""
    made = manufactured_modules(config.seed, fabric, config.pod.cubes * ENDS_PER_CUBE)
    for end, generation in generations.items():
        if generation:
            number = np.array([end])
            made = with_rows(made, number, manufacture_modules(config.seed, fabric, number, generation))
    return made


def _lanes(
    made: ManufacturedModules,
    ends: tuple[LinkEnd, LinkEnd],
    impairments: tuple[Impairment, Impairment],
    warmer_k: float,
) -> Lanes:
    """What the first end receives from the second, of shape (strands, lanes), as both modules were made and
    with what is wrong with them."""
    near, far = (np.array([end.number]) for end in ends)
    lanes = lanes_between(made, near, far, STRANDS, warmer_k)
    impaired = {end.number: one for end, one in zip(ends, impairments, strict=True)}
    return changed_lanes(lanes, ImpairedEnds(impaired, near), ImpairedEnds(impaired, far)).each()
