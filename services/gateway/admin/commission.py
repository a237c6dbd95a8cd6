"""Commissions a new fabric in a running site: checks the request and puts it into the inbox."""

import asyncio
import re
from collections.abc import Mapping

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, PydanticSerializationError, to_json

from schemas.api.requests import FabricRequest, RequestReceipt
from schemas.config.fabric_configs import config_model
from schemas.config.pods import FabricConfig
from schemas.config.workload import TraceRow
from schemas.fabric_names import is_name_of_object
from schemas.messages.sequencer import FabricCommissioned
from schemas.names import FABRIC_PATTERN, fabric_order
from services.gateway.fabrics import site_fabrics
from services.gateway.requests.operator_requests import (
    INBOX_MAX,
    RequestTerms,
    check_inbox_room,
    wait_for_outcome,
)
from services.gateway.runtime_ports import TwinPorts
from services.gateway.text.validation_errors import invalid_sentence
from shared.basics.errors import InvalidInput, OperationFailed
from shared.basics.spelling import truncated
from shared.engine.message_order import commissioning_id
from shared.models.fabric_plants import check_demand
from shared.models.network.attachments import check_attachments, check_multipod_jobs
from shared.storage.inbox.request_inbox import InboxReceipt, name_taken_error
from shared.storage.store.state_store import FabricPlace

SETTINGS_BYTES_MAX = 64 * 1024
"""Maximum size of the settings without their trace, as JSON."""
_ROW = TypeAdapter(TraceRow)


async def commission_fabric(twin: TwinPorts, request: FabricRequest, terms: RequestTerms) -> RequestReceipt:
    """Commission a new fabric in a site and wait until that is on the log.

    Raise InvalidInput with the invalid value. A fabric name is used only once in the life of a twin; of
    several concurrent requests for a name, one succeeds.
    """
    config = await asyncio.to_thread(_config, request.kind, request.settings)
    body = terms.of(FabricCommissioned(site=request.site, config=config))
    start, received = await asyncio.to_thread(_put, twin, request, body)
    message_id = commissioning_id(request.name)
    return await wait_for_outcome(twin, request.name, request.site, message_id, start, received, terms.wait_s)


def _put(twin: TwinPorts, request: FabricRequest, body: FabricCommissioned) -> tuple[int, InboxReceipt]:
    """Put the commissioning into the site's inbox; returns also where the site's log ended before. A refused
    request leaves no trace."""
    if re.fullmatch(FABRIC_PATTERN, request.name) is None:
        raise InvalidInput(f"name {truncated(repr(request.name))}: must be a fabric name like pod-4")
    if is_name_of_object(request.name):
        raise InvalidInput(
            f"name {request.name}: is the name of an object in a fabric; must be a fabric name like pod-4"
        )
    places = twin.documents.fabrics()
    partition = _partition(twin, request.site, places)
    start = twin.log.end(request.site)
    if body.key is not None:
        repeat = twin.inbox.find_repeat(partition, request.name, body)
        if repeat is not None:
            return start, repeat
    check_inbox_room(twin, partition, request.site)
    fabrics = site_fabrics(twin, request.site) | {request.name: body.config}
    check_attachments(fabrics)
    check_multipod_jobs(
        request.site, {name: fabrics[name] for name in sorted(fabrics, key=fabric_order)}, request.name
    )
    existing = places.get(request.name)
    if existing is not None and existing.retired_us is not None:
        raise InvalidInput(
            f"name {request.name}: is a retired fabric of site {existing.site}; fabric names are never reused"
        )
    # The first request reserves the name for its site. The site's inbox then accepts one of the requests for
    # it.
    site = existing.site if existing is not None else twin.claim(request.name, request.site)
    if site != request.site:
        use = "is a fabric" if existing is not None else "is requested as a fabric"
        raise InvalidInput(f"name {request.name}: {use} of site {site}; a pod cannot move to another site")
    if existing is not None or any(
        r.fabric == request.name for r in twin.inbox.waiting(partition, INBOX_MAX)
    ):
        raise name_taken_error(request.name, request.site)
    return start, twin.inbox.put(partition, request.name, body)


def _partition(twin: TwinPorts, site: str, places: Mapping[str, FabricPlace]) -> int:
    partitions = {place.site: place.partition for place in places.values()}
    if site not in partitions:
        if problems := twin.unready():  # an empty store knows no sites
            raise OperationFailed(f"site {truncated(repr(site))}: cannot be looked up now: {problems[0]}")
        raise InvalidInput(
            f"site {truncated(repr(site))}: no such site; must be one of {', '.join(partitions)}; sites are "
            "only created with their twin: for another site, create another twin with --site FILE"
        )
    return partitions[site]


def _config(kind: str, settings: dict[str, JsonValue]) -> FabricConfig:
    """The configuration of this kind, with these settings over its defaults."""
    try:
        model = config_model(kind)
    except ValueError as error:
        raise InvalidInput(str(error)) from None
    try:
        _check_size(settings, model)
        # Convert through JSON, because strict models accept a JSON list for a tuple.
        text = to_json({"kind": kind} | settings, inf_nan_mode="constants")
    except PydanticSerializationError:  # what JSON's escapes can carry and UTF-8 cannot
        raise InvalidInput("settings: must be valid UTF-8") from None
    try:
        config = model.model_validate_json(text)
        check_demand(config)
    except ValidationError as error:
        raise InvalidInput(f"settings: {invalid_sentence(error.errors(), model)}") from None
    except InvalidInput as error:
        raise InvalidInput(f"settings: {error}") from None
    return config


def _check_size(settings: Mapping[str, JsonValue], model: type[FabricConfig]) -> None:
    """Raise InvalidInput for settings that are too large apart from their trace, or for the first invalid row
    of the trace. Pydantic would collect an error for each of a million fields, a kilobyte each."""
    size = len(to_json({name: value for name, value in settings.items() if name != "trace"}))
    if size > SETTINGS_BYTES_MAX:
        raise InvalidInput(
            f"settings: have {size:,} bytes besides the trace; must have at most {SETTINGS_BYTES_MAX:,}"
        )
    trace = settings.get("trace")
    for number, row in enumerate(trace if isinstance(trace, list) else ()):
        try:
            _ROW.validate_json(to_json(row))
        except ValidationError as error:
            first: ErrorDetails = {**error.errors()[0]}
            first["loc"] = ("trace", number, *first["loc"])
            raise InvalidInput(f"settings: {invalid_sentence([first], model)}") from None
