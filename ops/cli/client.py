"""A client of the gateway on the standard library alone: it must not slow down a query."""

import http.client
import json
import os
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from shared.errors import InvalidInput, LightwaveError, NotFound, TwinUnreachable

DEFAULT_URL = "http://127.0.0.1:8080"
TIMEOUT_S = 15.0
WAIT_S = 10
ERRORS: dict[int, type[LightwaveError]] = {404: NotFound}


class RequestFailed(LightwaveError):
    """The twin answered that it will not, or cannot."""


class Client:
    """Talks to the twin that LIGHTWAVE_URL names, with the token of LIGHTWAVE_TOKEN."""

    def __init__(self, url: str | None = None) -> None:
        self.url = (url or os.environ.get("LIGHTWAVE_URL") or DEFAULT_URL).rstrip("/")
        parts = urlsplit(self.url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
            raise InvalidInput(f"LIGHTWAVE_URL {self.url!r}: not a URL like {DEFAULT_URL}")
        self._host, self._port, self._path = parts.hostname, port, parts.path
        self._secure = parts.scheme == "https"

    def get(self, path: str, **query: object) -> Any:
        return self._ask("GET", _target(path, query), None, None)

    def put(self, path: str, body: dict[str, object]) -> Any:
        return self._ask("PUT", path, body, None)

    def post(self, path: str, body: dict[str, object] | None = None, key: str | None = None) -> Any:
        """A request under an idempotency key, so that one lost answer may be asked for again."""
        key = key or str(uuid.uuid4())
        target = _target(path, {"wait": WAIT_S})
        try:
            return self._ask("POST", target, body, key)
        except TwinUnreachable:
            return self._ask("POST", target, body, key)

    def stream(self, path: str, last_event_id: str | None, **query: object) -> Iterator[tuple[str, Any]]:
        """(event id, message) of a server-sent stream, until it breaks off."""
        headers = {"Accept": "text/event-stream"}
        if last_event_id:
            headers["Last-Event-ID"] = last_event_id
        connection, answer = self._send("GET", _target(path, query), None, headers)
        if answer.status != 200:
            self._content(answer)
        event_id = ""
        try:
            while line := answer.readline():
                text = line.decode().rstrip("\r\n")
                if text.startswith("id: "):
                    event_id = text[4:]
                elif text.startswith("data: "):
                    yield event_id, json.loads(text[6:])
        except (OSError, http.client.HTTPException):
            return
        finally:
            connection.close()

    def _ask(self, method: str, target: str, body: dict[str, object] | None, key: str | None) -> Any:
        headers = {"Idempotency-Key": key} if key else {}
        connection, answer = self._send(method, target, body, headers)
        try:
            return self._content(answer)
        finally:
            connection.close()

    def _send(
        self, method: str, target: str, body: dict[str, object] | None, headers: dict[str, str]
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=TIMEOUT_S)
        token = os.environ.get("LIGHTWAVE_TOKEN")
        if token:
            headers = headers | {"Authorization": f"Bearer {token}"}
        data = None
        if body is not None:
            data, headers = json.dumps(body).encode(), headers | {"Content-Type": "application/json"}
        try:
            connection.request(method, self._path + target, body=data, headers=headers)
            return connection, connection.getresponse()
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            raise self._nobody(error) from None

    def _nobody(self, error: Exception) -> TwinUnreachable:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return TwinUnreachable(
            f"no twin answers at {self.url} ({why}); start one with `lightwave up`, or set LIGHTWAVE_URL"
        )

    def _content(self, answer: http.client.HTTPResponse) -> Any:
        try:
            content = json.loads(answer.read())
        except (ValueError, OSError, http.client.HTTPException) as error:
            if isinstance(error, ValueError):
                raise TwinUnreachable(f"what answers at {self.url} is no twin; set LIGHTWAVE_URL") from None
            raise self._nobody(error) from None
        if answer.status < 400:
            return content
        if not isinstance(content, dict) or "error" not in content:
            raise TwinUnreachable(f"what answers at {self.url} is no twin; set LIGHTWAVE_URL")
        raise ERRORS.get(answer.status, RequestFailed)(str(content["error"]))


def _target(path: str, query: dict[str, object]) -> str:
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def escape(name: str) -> str:
    """A thing's name as part of a path."""
    return quote(name, safe="/")
