"""A gateway client that uses only the standard library, so that queries start fast."""

import contextlib
import copy
import http.client
import json
import os
import re
import ssl
import time
import uuid
from collections.abc import Iterator, Mapping
from email.message import Message
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload
from urllib.parse import quote, urlencode, urlsplit

from ops.client.answers import AnswerFields, AnswerT, ApiPath, JsonRecord, RowList
from ops.client.caller_name import (
    AS_HEADER,
    ROLE_HEADER,
    caller_name,
    caller_role,
    check_caller_name,
)
from ops.client.token_variables import TOKEN, token_from_environment
from ops.report.safe_text import one_line, quoted, shortened
from schemas.limits import IDEMPOTENCY_KEY_MAX
from schemas.resource_kinds import FABRICS, ResourceKind
from shared.basics.checks import check_range
from shared.basics.errors import InvalidInput, LightwaveError, NotFound, TwinUnreachable
from shared.basics.json_types import JsonObject, JsonValue
from shared.basics.time_format import format_time
from shared.basics.time_grammar import is_relative
from shared.models.default_fabric import default_fabric_of
from shared.storage.files.tls_files import TlsFiles

if TYPE_CHECKING:
    from schemas.api.requests import RequestReceipt

DEFAULT_URL = "http://127.0.0.1:8080"


def url_from_environment() -> str | None:
    """The value of LIGHTWAVE_URL, or None."""
    return os.environ.get("LIGHTWAVE_URL") or None


def parse_twin_url(url: str, named_by: str) -> tuple[str, int | None, str, bool]:
    """Return (host, port, path, whether TLS) of a URL. Raises InvalidInput if it is not valid."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    plain = (
        re.fullmatch(r"[!-~]+", url) and not parts.query and not parts.fragment and "@" not in parts.netloc
    )
    if parts.scheme not in ("http", "https") or not host or not plain:
        raise InvalidInput(
            f"{named_by} {quoted(url)}: not a twin's address; must be a URL such as {DEFAULT_URL}"
        )
    return host, port, parts.path.rstrip("/"), parts.scheme == "https"


CA_FILE = "LIGHTWAVE_CA_FILE"
AT_HEADER = "Lightwave-At-Us"
"""The header of an answer about the past, with its simulated time in microseconds."""
EMPTY_REASON_HEADER = "Lightwave-Empty-Reason"
"""The header of an empty list: why there can be no such rows."""
TIMEOUT_S = 20.0
WAIT_S = 10
"""Maximum time that the twin waits until a request is on the log; less than TIMEOUT_S."""
RETRY_S = 0.2
RETRY_S_MAX = 60
PAGE_MAX = 10_000
"""Maximum number of rows in a page of a list."""
LINK_HEADER = re.compile(r'<([^>]+)>; rel="(next|prev)"')
KEY_PATTERN = re.compile(rf"[!-~]{{1,{IDEMPOTENCY_KEY_MAX}}}")
"""A valid idempotency key."""
TIMEOUT_S_MAX = 86_400.0
REASON_MAX = 120
"""Maximum number of characters of a network error that an error message repeats."""
ANSWER_MAX = 64_000_000
"""Maximum number of bytes of an answer, or of a line of a stream."""
CHUNK = 2**16
BYTES_PER_S_MIN = 10_000
"""Answers that take longer than the timeout must arrive at least at this rate."""
RETIRED_EVENT = "retired"
"""Name of the event of a stream that has the last message of a retired fabric."""
SILENCE_S_MAX = 45.0
"""A stream without data for this time is broken; the gateway sends a comment every 15 s."""


class RequestFailed(LightwaveError):
    """The twin refused the request, or could not execute it."""


class FabricEnded(RequestFailed):
    """A fabric has retired, and all its messages are read."""


class TwinBusy(RequestFailed):
    """The twin is overloaded. Retry after `retry_after_s` seconds."""

    def __init__(self, sentence: str, retry_after_s: int) -> None:
        super().__init__(sentence)
        self.retry_after_s = retry_after_s


class ConnectionLost(TwinUnreachable):
    """No connection, or it was lost. The twin may have received the request."""


class TwinSilent(ConnectionLost):
    """The twin accepted the connection, and did not answer in time. It may still execute the request."""


class Client:
    """A client of the twin at `url`.

    The default URL is LIGHTWAVE_URL; the default token is LIGHTWAVE_TOKEN, or in the file
    LIGHTWAVE_TOKEN_FILE. Over https, the client trusts the certificates in LIGHTWAVE_CA_FILE, or else those
    of the system. Requests carry the name `as_name`, by default that of `--as` or LIGHTWAVE_AS, and ask for
    the role of LIGHTWAVE_ROLE. With `at`, all queries are about that simulated time. `now` and relative times
    are fixed by the first answer.

    Methods raise TwinUnreachable if no twin of this version answers, NotFound for 404, InvalidInput for 422,
    TwinBusy for 429, and RequestFailed for other errors.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        at: str | None = None,
        as_name: str | None = None,
    ) -> None:
        self.url = url or url_from_environment() or DEFAULT_URL
        self._hint = "give another url" if url else "set LIGHTWAVE_URL"
        named_by = "url" if url else "LIGHTWAVE_URL"
        self._host, self._port, self._path, self._secure = parse_twin_url(self.url, named_by)
        self._timeout_s = check_range("timeout_s", timeout_s, RETRY_S / 100, TIMEOUT_S_MAX, "s")
        self._at = at
        self._as_name = caller_name() if as_name is None else check_caller_name(as_name, "as_name")
        self._headers = {"Accept": "application/json"}
        if own := token or token_from_environment():
            if not re.fullmatch(r"[!-~]+", own):
                raise InvalidInput(
                    f"{'token' if token else TOKEN}: not a bearer token; must be visible ASCII characters"
                )
            self._headers["Authorization"] = f"Bearer {own}"
        if (role := caller_role()) is not None:
            self._headers[ROLE_HEADER] = role

    @property
    def at(self) -> str | None:
        """The simulated time of all queries; after the first answer, an absolute one."""
        return self._at

    def at_time(self, at: str | None) -> "Client":
        """Return a client of the same twin whose queries are about another simulated time; None: about
        now."""
        other = copy.copy(self)
        other._at = at  # noqa: SLF001 -- of this class
        return other

    @overload
    def rows(self, path: ApiPath[AnswerT], *fields: str, **query: object) -> RowList[AnswerT]: ...
    @overload
    def rows(self, path: str, *fields: str, **query: object) -> RowList[JsonObject]: ...
    def rows(self, path: ApiPath[Any] | str, *fields: str, **query: object) -> Any:
        """GET a list of objects, each of which must have these fields."""
        return self._page(_target(str(path), query), fields)[0]

    @overload
    def pages(
        self, path: ApiPath[AnswerT], *fields: str, most: int, **query: object
    ) -> tuple[RowList[AnswerT], bool]: ...
    @overload
    def pages(
        self, path: str, *fields: str, most: int, **query: object
    ) -> tuple[RowList[JsonObject], bool]: ...
    def pages(self, path: ApiPath[Any] | str, *fields: str, most: int, **query: object) -> Any:
        """Return (up to `most` rows of a paged list, whether there are more). If the pages lead back in time,
        these are the last rows. They are always in the order of the list."""
        target: str | None = _target(str(path), {**query, "limit": min(most, PAGE_MAX)})
        pages: list[RowList[JsonObject]] = []
        missing, back = most, False
        while target is not None and missing > 0:
            page, link = self._page(target, fields)
            pages.append(page)
            missing -= len(page)
            back = back or (link is not None and link[2] == "prev")
            target = link[1] if link is not None and page else None
            if target is not None and not target.startswith(f"{path}?"):
                raise self.not_a_twin(f"the next page of its list is {target[:80]!r}")
        rows = [row for page in (reversed(pages) if back else pages) for row in page]
        cut = max(0, -missing)
        taken = rows[cut:] if back else rows[: len(rows) - cut]
        return RowList(taken, pages[0].why_empty if pages else None), cut > 0 or target is not None

    def _page(self, target: str, fields: tuple[str, ...]) -> tuple[RowList[JsonObject], re.Match[str] | None]:
        """Return the rows of a page, and its header `Link`, parsed."""
        content, headers = self._exchange("GET", target, None, None)
        if not isinstance(content, list):
            raise self.not_a_twin("a list was expected")
        why_empty = headers.get(EMPTY_REASON_HEADER)
        rows = RowList(
            [self._check(row, fields) for row in content], None if why_empty is None else one_line(why_empty)
        )
        return rows, LINK_HEADER.fullmatch(headers.get("Link", ""))

    @overload
    def resource(self, path: ApiPath[AnswerT], *fields: str, **query: object) -> AnswerT: ...
    @overload
    def resource(self, path: str, *fields: str, **query: object) -> JsonObject: ...
    def resource(self, path: ApiPath[Any] | str, *fields: str, **query: object) -> Any:
        """GET an object, which must have these fields."""
        return self._check(self._request("GET", _target(str(path), query), None, None), fields)

    def content(self, path: str, **query: object) -> bytes:
        """GET a body that is not JSON."""
        connection, answer = self._send("GET", _target(path, query), None, {}, self._timeout_s)
        try:
            if answer.status != 200:
                self._content(answer)
                raise self.not_a_twin(f"it answers HTTP {answer.status}")
            return answer.read(ANSWER_MAX)
        except (OSError, http.client.HTTPException) as error:
            raise self._connection_lost(error) from None
        finally:
            _close(connection, answer)

    def require_fields(self, answer: JsonObject, fields: AnswerFields[AnswerT]) -> AnswerT:
        """Check that an answer also has these fields, and return it."""
        checked: Any = self._check(answer, fields.names)
        model: AnswerT = checked
        return model

    @overload
    def put(self, path: ApiPath[AnswerT], body: dict[str, object], *fields: str) -> AnswerT: ...
    @overload
    def put(self, path: str, body: dict[str, object], *fields: str) -> JsonObject: ...
    def put(self, path: ApiPath[Any] | str, body: dict[str, object], *fields: str) -> Any:
        return self._check(self._request("PUT", str(path), body, None), fields)

    @overload
    def delete(self, path: ApiPath[AnswerT], *fields: str) -> AnswerT: ...
    @overload
    def delete(self, path: str, *fields: str) -> JsonObject: ...
    def delete(self, path: ApiPath[Any] | str, *fields: str) -> Any:
        return self._check(self._request("DELETE", str(path), None, None), fields)

    @overload
    def post(
        self,
        path: ApiPath[AnswerT],
        *fields: str,
        body: Mapping[str, object] | None = None,
        key: str | None = None,
    ) -> AnswerT: ...
    @overload
    def post(
        self, path: str, *fields: str, body: Mapping[str, object] | None = None, key: str | None = None
    ) -> JsonObject: ...
    def post(
        self,
        path: ApiPath[Any] | str,
        *fields: str,
        body: Mapping[str, object] | None = None,
        key: str | None = None,
    ) -> Any:
        """POST under an idempotency key, and retry once if the connection is lost. The key makes that
        safe."""
        if key is not None and not KEY_PATTERN.fullmatch(key):
            raise InvalidInput(
                f"key {quoted(key)}: is not allowed; must be 1 to "
                f"{IDEMPOTENCY_KEY_MAX} visible ASCII characters"
            )
        key = key or str(uuid.uuid4())
        try:
            content = self._request("POST", str(path), body, key)
        except ConnectionLost:
            time.sleep(RETRY_S)
            content = self._request("POST", str(path), body, key)
        return self._check(content, fields)

    def post_list(
        self, path: str, *fields: str, body: Mapping[str, object], key: str | None = None
    ) -> RowList[JsonObject]:
        """As `post`; the answer is a list of objects, each of which must have these fields."""
        key = key or str(uuid.uuid4())
        try:
            content = self._request("POST", path, body, key)
        except ConnectionLost:
            time.sleep(RETRY_S)
            content = self._request("POST", path, body, key)
        if not isinstance(content, list):
            raise self.not_a_twin("a list was expected")
        return RowList([self._check(row, fields) for row in content])

    def stream(
        self, path: ApiPath[AnswerT], last_event_id: str | None, **query: object
    ) -> Iterator[tuple[str, AnswerT | None]]:
        """Yield (event id, message) of an event stream until the connection is lost; first ("", None). Raise
        FabricEnded after the last message of a retired fabric."""
        headers = {"Accept": "text/event-stream"}
        if last_event_id:
            headers["Last-Event-ID"] = last_event_id
        connection, answer = self._send("GET", _target(str(path), query), None, headers, SILENCE_S_MAX)
        try:
            if answer.status != 200:
                self._content(answer)
            if not (answer.getheader("Content-Type") or "").startswith("text/event-stream"):
                raise self.not_a_twin("an event stream was expected")
            yield "", None
            yield from self._events(answer)
        finally:
            _close(connection, answer)

    def _events(self, answer: http.client.HTTPResponse) -> Iterator[tuple[str, Any]]:
        event_id, event = "", ""
        try:
            while (line := answer.readline(ANSWER_MAX)).endswith(b"\n"):  # otherwise it was cut off
                text = self._text(line)
                if text.startswith("id: "):
                    event_id = text[4:]
                elif text.startswith("event: "):
                    event = text[7:]
                elif text.startswith("data: ") and event == RETIRED_EVENT:
                    raise self._fabric_ended(self._message(text[6:]))
                elif text.startswith("data: "):
                    yield event_id, self._message(text[6:])
        except (OSError, http.client.HTTPException):
            return  # the connection was lost

    def _fabric_ended(self, last: Any) -> FabricEnded:
        with self.reading():
            return FabricEnded(f"{last.fabric}: retired at {format_time(last.at_us)}; no messages follow")

    def _text(self, line: bytes) -> str:
        try:
            return line.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise self.not_a_twin("its stream has a line that is not text") from None

    def _message(self, text: str) -> JsonObject:
        try:
            return self._check(json.loads(text, object_hook=JsonRecord), ())
        except (ValueError, RecursionError):
            raise self.not_a_twin("its stream has a line that is not a message") from None

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Convert errors while reading an answer. If the answer has another structure, it is not from a
        twin."""
        try:
            yield
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise self.not_a_twin(f"its answer cannot be read: {type(error).__name__} {error}") from error

    def not_a_twin(self, why: str) -> TwinUnreachable:
        """Return the error for an answer that does not come from a twin of this version."""
        return TwinUnreachable(
            f"the server at {self.url} is not a twin of this version ({why}); {self._hint}"
        )

    def _check(self, content: JsonValue, fields: tuple[str, ...]) -> JsonObject:
        if not isinstance(content, dict):
            raise self.not_a_twin("an object was expected")
        for field in fields:
            if field not in content:
                raise self.not_a_twin(f"its answer has no field {field!r}")
        return content

    def _request(
        self, method: str, target: str, body: Mapping[str, object] | None, key: str | None
    ) -> JsonValue:
        return self._exchange(method, target, body, key)[0]

    def _exchange(
        self, method: str, target: str, body: Mapping[str, object] | None, key: str | None
    ) -> tuple[JsonValue, Message]:
        """Return (content of the answer, its headers)."""
        headers = {"Idempotency-Key": key} if key else {}
        connection, answer = self._send(method, target, body, headers, self._timeout_s)
        try:
            return self._content(answer, is_query=method == "GET"), answer.headers
        finally:
            _close(connection, answer)

    def _send(
        self,
        method: str,
        target: str,
        body: Mapping[str, object] | None,
        headers: dict[str, str],
        timeout_s: float,
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        if method == "GET" and self._at is not None:
            target += (
                f"{'&' if '?' in target else '?'}at={quote(self._at, safe='', errors='surrogateescape')}"
            )
        connection = self._connection(timeout_s)
        headers = self._headers | headers
        if self._as_name is not None and method != "GET":
            headers[AS_HEADER] = self._as_name
        data = None
        if body is not None:
            data, headers = json.dumps(body).encode(), headers | {"Content-Type": "application/json"}
        try:
            connection.request(method, self._path + target, body=data, headers=headers)
            answer = connection.getresponse()
            self._pin_time(answer.getheader(AT_HEADER, ""))
            return connection, answer
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            is_connected = connection.sock is not None
            connection.close()
            if is_connected and isinstance(error, TimeoutError):
                raise self._silent(error, timeout_s, is_query=method == "GET") from None
            raise self._connection_lost(error) from None

    def _pin_time(self, then: str) -> None:
        """Keep the time of the first answer, so that a command is about one time although the twin's time
        advances."""
        if self._at is not None and is_relative(self._at) and then.isdecimal():
            self._at = f"{then}us"

    def _connection(self, timeout_s: float) -> http.client.HTTPConnection:
        if not self._secure:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)
        ca = os.environ.get(CA_FILE)
        context = TlsFiles(Path(ca) if ca else None).context()
        return http.client.HTTPSConnection(self._host, self._port, timeout=timeout_s, context=context)

    def _connection_lost(self, error: Exception) -> ConnectionLost:
        if isinstance(error, ssl.SSLCertVerificationError):
            return ConnectionLost(
                f"{self.url}: its certificate is not trusted ({error.verify_message}); set {CA_FILE} to "
                "a file with the trusted certificates"
            )
        error_text = " ".join(str(error).split()) or type(error).__name__
        why = getattr(error, "strerror", None) or shortened(one_line(error_text), REASON_MAX)
        return ConnectionLost(
            f"no twin answers at {self.url} ({why}); start one with `lightwave up`, or {self._hint}"
        )

    def _silent(self, error: TimeoutError, timeout_s: float, *, is_query: bool) -> TwinSilent:
        """The error if a twin that is there does not answer in time."""
        advice = "try again" if is_query else "it may still execute the request"
        return TwinSilent(
            f"the twin at {self.url} did not answer within {timeout_s:g} s ({error}); it is busy or paused: "
            f"{advice}"
        )

    def _content(self, answer: http.client.HTTPResponse, *, is_query: bool = True) -> JsonValue:
        """Return the JSON of an answer. Raises the error that an unsuccessful one reports."""
        try:
            text = self._read_all(answer)
        except TimeoutError as error:
            raise self._silent(error, self._timeout_s, is_query=is_query) from None
        except (OSError, http.client.HTTPException) as error:
            raise self._connection_lost(error) from None
        if len(text) > ANSWER_MAX:
            raise self.not_a_twin(f"its answer is larger than {ANSWER_MAX} bytes")
        try:
            content: JsonValue = json.loads(text, object_hook=JsonRecord)
        except RecursionError:
            raise self.not_a_twin("its answer is nested too deeply") from None
        except ValueError:
            raise self.not_a_twin(f"its answer, HTTP {answer.status}, is not JSON") from None
        if answer.status < 300 or (answer.status == 409 and _is_receipt(content)):
            return content
        if not isinstance(content, dict) or not isinstance(content.get("error"), str):
            raise self.not_a_twin(f"it answers HTTP {answer.status} without a reason")
        error_text = one_line(str(content["error"]))
        if answer.status == 404:
            raise NotFound(error_text)
        if answer.status == 422:
            raise InvalidInput(error_text)
        if answer.status == 429:
            again = answer.getheader("Retry-After", "")
            raise TwinBusy(error_text, min(int(again), RETRY_S_MAX) if again.isdecimal() else 1)
        raise RequestFailed(error_text)

    def _read_all(self, answer: http.client.HTTPResponse) -> bytes:
        """Return all bytes of an answer, or more than ANSWER_MAX. Raises TimeoutError if they arrive too
        slowly, even if each piece alone is in time."""
        started_s, pieces, taken = time.monotonic(), [], 0
        while taken <= ANSWER_MAX and (piece := answer.read1(CHUNK)):
            pieces.append(piece)
            taken += len(piece)
            if time.monotonic() - started_s > self._timeout_s + taken / BYTES_PER_S_MIN:
                raise TimeoutError("its answer does not end")
        if taken <= ANSWER_MAX and answer.length:
            raise http.client.IncompleteRead(b"".join(pieces), answer.length)
        return b"".join(pieces)


def default_fabric(client: Client) -> str:
    """Return the default fabric of queries, by the rule of the twin (`default_fabric_of`)."""
    rows = client.rows(rows_path(FABRICS), "name", "kind", "retired_us")
    ended = {row.name: row.retired_us for row in rows if row.retired_us is not None}
    return default_fabric_of({row.name: row.kind for row in rows}, ended)


def _close(connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> None:
    """Close both. The garbage collector would also close an open answer, but Python silently drops a Ctrl-C
    that arrives in the middle of that."""
    answer.close()
    connection.close()


def _is_receipt(content: JsonValue) -> bool:
    """Whether a 409 answer is the receipt of a request that was put on the log and then refused."""
    return isinstance(content, dict) and content.get("status") == "refused"


def _target(path: str, query: dict[str, object]) -> str:
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given, doseq=True, errors='surrogateescape')}" if given else path


def escape_path(name: str) -> str:
    """Return an object's name as part of a URL path."""
    return quote(name, safe="/", errors="surrogateescape")


def rows_path(kind: ResourceKind[AnswerT]) -> ApiPath[AnswerT]:
    """Return the path of the list of all resources of a kind."""
    return ApiPath(f"/v1/{kind.word}")


def row_path(kind: ResourceKind[AnswerT], name: str) -> ApiPath[AnswerT]:
    """Return the path of one resource."""
    return ApiPath(f"/v1/{kind.word}/{escape_path(name)}")


def receipt_path(path: str, comment: str | None) -> "ApiPath[RequestReceipt]":
    """Return the path of a request that waits for its result. `comment` goes into the operations log."""
    return ApiPath(_target(path, {"wait": WAIT_S, "comment": comment}))
