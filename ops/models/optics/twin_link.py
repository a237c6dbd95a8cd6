"""The strands of a link of the running twin: its OCS as manufactured from the twin's seed, its modules as
configured in the twin."""

import json
from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import ValidationError

from ops.client.http_client import Client, escape_path
from ops.models.optics.link_report import LinkCase, StrandCase
from ops.report.light_path_text import unmade_reason
from schemas.api.rows import LightPath, StrandPath
from schemas.config.pods import SuperpodConfig
from schemas.documents.pods import EndImpairment
from shared.basics.errors import InvalidInput
from shared.basics.json_types import JsonObject
from shared.models.ocs.patched_fibres import Patches, port_place
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
    """The link from an end: the current one, or with `to` the one to that end.

    The current link, made or only wanted, has all impairments of its light. Another link has clean connectors
    and sound modules. The module of this end is `warmer_k` kelvin warmer than the far one. Raises
    InvalidInput if an end has no partner and `to` is not given, or if `to` cannot be its partner.
    """
    content = client.resource(f"/v1/trace/{escape_path(name)}", *PATH_FIELDS)
    with client.reading():
        current = LightPath.model_validate_json(json.dumps(content))
        fabric = current.end.split("/")[0]
        joined = current.far_end or current.wanted_end
        why = None if current.far_end else unmade_reason(content)
        note = _dark_note(current, why)
    config = _config(client, fabric)
    end = link_end(superpod_plant(config.pod.cubes).parse(name).number)
    if to is None and why is not None:
        nearest = joined or LinkEnd(end.cube, end.face ^ 1, end.index).name(fabric)
        raise InvalidInput(f"link {name}: {why}; name an end with --to, such as {nearest}")
    far = _partner(fabric, end, str(joined) if to is None else to, config.pod.cubes)
    path: LightPath | None = current
    if to is not None and to != joined:
        path, note = None, "a link that could be made, with clean connectors"
    made = _modules_at(config, fabric, _generations(client, fabric, (end, far), path))
    impairments = (SOUND, SOUND)
    patched: Patches = {}
    if path is not None:
        impairments = (_impairment(path.impairment), _impairment(path.far_impairment))
        patched = _patched(end.ocs, path.strands)
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


def _impairment(reported: EndImpairment | None) -> Impairment:
    if reported is None:
        return SOUND
    return Impairment(**{name: value for name, value in reported if name != "end"})


def _patched(ocs: int, strands: Sequence[StrandPath]) -> Patches:
    """The spare ports of the fibres that are not at their own ports."""
    found: dict[int, int] = {}
    for strand in strands:
        for side, (port, spare) in enumerate(
            ((strand.north, strand.north_spare), (strand.south, strand.south_spare))
        ):
            if port is not None and spare is not None:
                found[port_place(side, ocs, port)] = spare
    return found


def _dark_note(path: LightPath, unmade: str | None) -> str | None:
    """Why the link receives no light now; None if it does. `unmade`: why it has no far end, if so."""
    if unmade is not None:
        return f"{unmade}: this is what the link would receive"
    if "failed" in (path.condition, path.far_condition):
        return "a module has failed: this is what sound ones would receive"
    impairments = [one for one in (path.impairment, path.far_impairment) if one is not None]
    if any(one.unpowered for one in impairments):
        return "a cube is without power: this is what the link would receive"
    if any(one.worked_on for one in impairments):
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
    """The strands between the near end and the far one, with the impairments of both."""
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
    client: Client, fabric: str, ends: tuple[LinkEnd, LinkEnd], path: LightPath | None
) -> dict[int, int | None]:
    """The module generations at both ends of a path; without a path, those in the list of links."""
    if path is not None:
        reported = (path.generation, path.far_generation)
    else:
        rows = [client.resource(f"/v1/links/{escape_path(end.name(fabric))}", "name") for end in ends]
        reported = (_generation(rows[0]), _generation(rows[1]))
    return {end.number: generation for end, generation in zip(ends, reported, strict=True)}


def _generation(row: JsonObject) -> int | None:
    found = row.get("generation")
    return found if isinstance(found, int) else None


def _modules_at(
    config: SuperpodConfig, fabric: str, generations: Mapping[int, int | None]
) -> ManufacturedModules:
    """The modules of a fabric, with those of these generations at these ends."""
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
    """What the first end receives from the second, of shape (strands, lanes), with the impairments of both
    modules."""
    near, far = (np.array([end.number]) for end in ends)
    lanes = lanes_between(made, near, far, STRANDS, warmer_k)
    impaired = {end.number: one for end, one in zip(ends, impairments, strict=True)}
    return changed_lanes(lanes, ImpairedEnds(impaired, near), ImpairedEnds(impaired, far)).each()
