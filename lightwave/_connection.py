"""The connection of a client to a twin: typed answers, names as users write them, receipts."""

import json
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from lightwave._arguments import check_argument_types
from lightwave._events import RECEIPT_FIELDS, Event, Receipt, parse_event, parse_receipt
from ops.client.answers import RowList, refusal_of
from ops.client.http_client import Client, RequestFailed, escape_path, receipt_path
from ops.requests.object_names import expand_name
from schemas.api.rows import ClockReport, LogMessage
from shared.basics.errors import InvalidInput

Answer = TypeVar("Answer")
ROWS_MAX = 1_000_000


class TwinConnection:
    """What the methods of `Twin` share."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def url(self) -> str:
        return self._client.url

    def _path(self, start: str, name: str, end: str = "") -> str:
        """The path of an object: its name with the fabric, if it lacks that and only one fits, and without
        its kind."""
        return f"/v1/{start}/{escape_path(expand_name(self._client, name))}{end}"

    def _refuse_past(self, what: str, instead: str = "") -> None:
        """InvalidInput if the queries of this client are about another time than now."""
        if self._client.at is not None:
            raise InvalidInput(f"at: {what} is about the present; use the twin itself{instead}")

    @check_argument_types
    def _rows(
        self, row: type[Answer], kind: str, fabric: str | None, where: dict[str, object]
    ) -> RowList[Answer]:
        """All rows of a kind, fetched page by page."""
        filters = {name: _query_value(value) for name, value in where.items()}
        found, _ = self._client.pages(f"/v1/{kind}", most=ROWS_MAX, fabric=fabric, **filters)
        rows = self._read(TypeAdapter(list[row]), found)  # type: ignore[valid-type]  # one that is given
        return RowList(rows, found.why_empty)

    def _get(self, kind: type[Answer], path: str, **query: object) -> Answer:
        return self._read(TypeAdapter(kind), self._client.resource(path, **query))

    def _put_clock(self, path: str, **change: object) -> ClockReport:
        self._refuse_past("the clock")
        body = {name: value for name, value in change.items() if value is not None}
        return self._read(TypeAdapter(ClockReport), self._client.put(path, body))

    def _send_request(
        self, path: str, key: str | None, comment: str | None, body: dict[str, object] | None = None
    ) -> Receipt:
        self._refuse_past("a request")
        answer = self._client.post(receipt_path(path, comment), *RECEIPT_FIELDS, body=body, key=key)
        with self._client.reading():
            refusal = refusal_of(answer)
        if refusal is not None:
            raise RequestFailed(refusal)
        with self._client.reading():
            return parse_receipt(answer)

    def _event(self, row: LogMessage, position: str = "") -> Event:
        with self._client.reading():
            return parse_event(row, position)

    def _read(self, kind: TypeAdapter[Answer], content: object) -> Answer:
        """Parse an answer; TwinUnreachable if it is not from a twin of this version."""
        try:
            return kind.validate_json(json.dumps(content))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise self._client.not_a_twin(f"its answer has {place}: {first['msg'].lower()}") from None


def _query_value(value: object) -> object:
    """A filter value in the form of a URL query."""
    return str(value).lower() if value is None or isinstance(value, bool) else value
