"""A new fabric that joins a living site: what is checked before, and how it is asked for."""

import asyncio
import re
from collections.abc import Mapping

import orjson
from pydantic import JsonValue, ValidationError

from schemas.api_requests import FabricRequest, RequestReceipt
from schemas.config import FabricConfig
from schemas.config_by_kind import config_model
from schemas.names import FABRIC_PATTERN
from schemas.sequencer import FabricCommissioned
from services.gateway.fabrics import is_commissioned
from services.gateway.invalid import invalid_sentence, short
from services.gateway.ports import TwinPorts
from services.gateway.requests import INBOX_MAX, submit
from shared.basics.errors import InvalidInput
from shared.storage.store import FabricPlace


async def commission_fabric(
    twin: TwinPorts, asked: FabricRequest, key: str | None, wait_s: float
) -> RequestReceipt:
    """Let a new fabric join a site, and wait up to `wait_s` for its beginning on the log. InvalidInput names
    what may not be; a fabric's name is given once in the life of a twin."""
    body, is_taken = await asyncio.to_thread(_prepared, twin, asked)
    if not is_taken:
        return await submit(twin, asked.name, body, key, wait_s)
    if key is not None:
        # Under a key that was used before, it is the same request. Under another one the inbox takes it, and
        # every runtime drops the commissioning of a fabric that lives.
        receipt = await submit(twin, asked.name, body, key, 0.0)
        if receipt.repeated:
            return receipt
    raise InvalidInput(
        f"name {asked.name}: is a fabric of {asked.site} already; names of fabrics are unique in a twin and "
        "never used again"
    )


def _prepared(twin: TwinPorts, asked: FabricRequest) -> tuple[FabricCommissioned, bool]:
    """(the first message of the fabric, whether its name is taken); room is made for one that is new."""
    if re.fullmatch(FABRIC_PATTERN, asked.name) is None:
        raise InvalidInput(f"name {short(repr(asked.name))}: no name of a fabric; names are like pod-4")
    config = _config(asked.kind, asked.settings)
    places = twin.documents.fabrics()
    _check_site(asked, places)
    body = FabricCommissioned(site=asked.site, config=config)
    is_taken = asked.name in places and _is_taken(twin, asked.name, places[asked.name].partition)
    if not is_taken:
        twin.join(asked.name, asked.site, config)
    return body, is_taken


def _check_site(asked: FabricRequest, places: Mapping[str, FabricPlace]) -> None:
    known = dict.fromkeys(place.site for place in places.values())
    if asked.site not in known:
        raise InvalidInput(f"site {short(repr(asked.site))}: no such site; allowed are {', '.join(known)}")
    lives = places.get(asked.name)
    if lives is not None and lives.site != asked.site:
        raise InvalidInput(
            f"name {asked.name}: is a fabric of the site {lives.site}; moving a pod into another site is "
            "refused"
        )


def _is_taken(twin: TwinPorts, fabric: str, partition: int) -> bool:
    """Whether a fabric that has its place lives, or waits to: where a gateway died before it could ask, it
    does neither."""
    waiting = twin.inbox.waiting(partition, INBOX_MAX)
    return is_commissioned(twin, fabric) or any(request.fabric == fabric for request in waiting)


def _config(kind: str, settings: dict[str, JsonValue]) -> FabricConfig:
    """The configuration of a kind with these settings over its defaults."""
    try:
        model = config_model(kind)
    except ValueError as error:
        raise InvalidInput(str(error)) from None
    try:
        # Through JSON, for a list there stands for what is a tuple in a strict model.
        return model.model_validate_json(orjson.dumps({"kind": kind} | settings))
    except ValidationError as error:
        raise InvalidInput(f"settings: {invalid_sentence(error.errors())}") from None
    except TypeError:  # what JSON's escapes can carry and UTF-8 cannot
        raise InvalidInput("settings: not a text in UTF-8") from None
