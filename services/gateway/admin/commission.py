"""A new fabric that joins a living site: what is checked before, and how it is asked for."""

import asyncio
import re
from collections.abc import Mapping

from pydantic import JsonValue, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from schemas.api.requests import FabricRequest, RequestReceipt
from schemas.config.fabric_kinds import config_model
from schemas.config.pods import FabricConfig
from schemas.messages.sequencer import FabricCommissioned
from schemas.names import FABRIC_PATTERN, fabric_order
from services.gateway.fabrics import site_fabrics
from services.gateway.ports import TwinPorts
from services.gateway.requests.operator_requests import (
    INBOX_MAX,
    RequestTerms,
    check_inbox_room,
    wait_for_outcome,
)
from services.gateway.text.validation_errors import invalid_sentence
from shared.basics.errors import InvalidInput, OperationFailed
from shared.basics.spelling import truncated
from shared.engine.roots import commissioning_id
from shared.models.fabric_plants import check_demand
from shared.models.network.attachments import check_attachments, check_multipod_jobs
from shared.storage.inbox.request_inbox import InboxReceipt, name_taken_error
from shared.storage.store.state_store import FabricPlace


async def commission_fabric(twin: TwinPorts, asked: FabricRequest, terms: RequestTerms) -> RequestReceipt:
    """Let a new fabric join a site, and wait for its beginning on the log. InvalidInput names what may not
    be; a fabric's name is given once in the life of a twin, and of several who ask for one at the same time
    one gets it."""
    body = terms.of(FabricCommissioned(site=asked.site, config=_config(asked.kind, asked.settings)))
    start, received = await asyncio.to_thread(_put, twin, asked, body)
    message_id = commissioning_id(asked.name)
    return await wait_for_outcome(twin, asked.name, asked.site, message_id, start, received, terms.wait_s)


def _put(twin: TwinPorts, asked: FabricRequest, body: FabricCommissioned) -> tuple[int, InboxReceipt]:
    """Put the commissioning into the site's inbox, and say where its log ended before. Nothing is kept of one
    that is refused."""
    if re.fullmatch(FABRIC_PATTERN, asked.name) is None:
        raise InvalidInput(f"name {truncated(repr(asked.name))}: no name of a fabric; names are like pod-4")
    places = twin.documents.fabrics()
    partition = _partition(twin, asked.site, places)
    start = twin.log.end(asked.site)
    if body.key is not None:
        repeat = twin.inbox.find_repeat(partition, asked.name, body)
        if repeat is not None:
            return start, repeat
    check_inbox_room(twin, partition, asked.site)
    fabrics = site_fabrics(twin, asked.site) | {asked.name: body.config}
    check_attachments(fabrics)
    check_multipod_jobs(
        asked.site, {name: fabrics[name] for name in sorted(fabrics, key=fabric_order)}, asked.name
    )
    lives = places.get(asked.name)
    if lives is not None and lives.retired_us is not None:
        raise InvalidInput(
            f"name {asked.name}: was a fabric of the site {lives.site} and has retired; names of fabrics are "
            "never used again"
        )
    # Who asks first for a site has the name for it; the site's inbox then keeps one of those who ask for it.
    site = lives.site if lives is not None else twin.claim(asked.name, asked.site)
    if site != asked.site:
        stands = "is a fabric" if lives is not None else "is asked for as a fabric"
        raise InvalidInput(
            f"name {asked.name}: {stands} of the site {site}; moving a pod into another site is refused"
        )
    if lives is not None or any(r.fabric == asked.name for r in twin.inbox.waiting(partition, INBOX_MAX)):
        raise name_taken_error(asked.name, asked.site)
    return start, twin.inbox.put(partition, asked.name, body)


def _partition(twin: TwinPorts, site: str, places: Mapping[str, FabricPlace]) -> int:
    found = {place.site: place.partition for place in places.values()}
    if site not in found:
        if lacking := twin.unready():  # a store that was emptied knows of no site
            raise OperationFailed(f"site {truncated(repr(site))}: cannot be looked up now: {lacking[0]}")
        raise InvalidInput(
            f"site {truncated(repr(site))}: no such site; allowed "
            f"are {', '.join(found)}; sites are made with "
            "their twin alone: for another one make another twin, with --site FILE"
        )
    return found[site]


def _config(kind: str, settings: dict[str, JsonValue]) -> FabricConfig:
    """The configuration of a kind with these settings over its defaults."""
    try:
        model = config_model(kind)
    except ValueError as error:
        raise InvalidInput(str(error)) from None
    try:
        # Through JSON, for a list there stands for what is a tuple in a strict model.
        text = to_json({"kind": kind} | settings, inf_nan_mode="constants")
    except PydanticSerializationError:  # what JSON's escapes can carry and UTF-8 cannot
        raise InvalidInput("settings: not a text in UTF-8") from None
    try:
        config = model.model_validate_json(text)
        check_demand(config)
    except ValidationError as error:
        raise InvalidInput(f"settings: {invalid_sentence(error.errors(), model)}") from None
    except InvalidInput as error:
        raise InvalidInput(f"settings: {error}") from None
    return config
