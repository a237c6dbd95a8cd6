"""The client of one Redis server or of a Redis Cluster: finds the node of a key, and translates errors.

The client never resends a command that got no answer, because the server may have executed it. It only
follows MOVED: the node refused the command, because the key is on another node.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

import redis
from redis.backoff import NoBackoff
from redis.cluster import RedisCluster
from redis.connection import parse_url
from redis.exceptions import (
    AskError,
    AuthenticationError,
    ClusterDownError,
    MovedError,
    RedisClusterException,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.retry import Retry

from shared.basics.errors import InvalidInput, OperationFailed, StoreUnreachable
from shared.storage.files.fd_limits import out_of_descriptors
from shared.storage.files.secret_files import read_password
from shared.storage.files.tls_files import TlsFiles

ANSWER_S_MAX = 5
REDIRECTS_MAX = 5
"""Redirections of one request before it fails."""

TLS = "rediss:"
NO_DRIVER_INFO = None
"""Suppresses the client's version: redis-py would read a file for each connection to find it."""
PASSWORD_FILE = "password_file"  # noqa: S105 -- the option's name
"""URL option for the file with the password; unknown to redis-py."""

Answer = TypeVar("Answer")
Command = Sequence[str | bytes]


class WrongType(OperationFailed):
    """A key has another type than the twin gave it; `key` is empty if the server does not name it."""

    def __init__(self, name: str, text: str) -> None:
        named = re.search(r"lightwave:[^\s)]+", text)
        self.key = named[0] if named else ""
        super().__init__(
            f"Redis at {name}: {self.key or 'a key'} has another type than the twin gave it; remove it with "
            "DEL, or start the twin with `lightwave up`, which removes it"
        )


@dataclass(frozen=True, slots=True)
class _Login:
    """A URL for redis-py, and a password that is not in it."""

    url: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)


class RedisClient:
    """Sends commands to the node of their key. Connects on first use; thread-safe.

    Raises StoreUnreachable if a later retry may succeed, else OperationFailed.
    """

    def __init__(self, url: str, *, cluster: bool = False) -> None:
        self.name = _without_password(url)
        allowed = (
            "redis://HOST:PORT, rediss://…" if cluster else "redis://HOST:PORT/DB, rediss://…, unix://PATH"
        )
        try:
            login = _login(url)
            self._nodes: _Nodes = _ClusterNodes(login) if cluster else _OneNode(login)
        except TypeError as error:  # redis-py passes every option after `?` as a keyword argument
            word = re.search(r"argument '(\w+)'", str(error))
            reason = f"unknown option {word[1]}" if word else "an option has the wrong type"
            raise InvalidInput(f"Redis URL {self.name!r}: {reason}; must be {allowed}") from None
        except ValueError as error:
            # The error would quote a password with a `/` in it as a host and port.
            reason = "not a URL" if "@" in url else str(error)
            raise InvalidInput(f"Redis URL {self.name!r}: {reason}; must be {allowed}") from None

    def close(self) -> None:
        self._nodes.close()

    def run_on_node(self, key: str, operation: Callable[[redis.Redis], Answer]) -> Answer:
        """Run an operation on the node of this key. After MOVED it runs again on another node, so everything
        before its first request must be repeatable."""
        with self.translated_errors():
            for _ in range(REDIRECTS_MAX):
                try:
                    return operation(self._nodes.node_for(key))
                except MovedError as error:
                    self._nodes.follow(error)
                except (redis.ConnectionError, redis.TimeoutError, ClusterDownError):
                    self._nodes.mark_stale()
                    raise
            raise RedisClusterException(f"{key} was redirected {REDIRECTS_MAX} times")

    def call(self, key: str, *command: str | bytes) -> Any:
        """One command on this key."""

        def execute(node: Any) -> Any:  # the client types commands only by their names
            try:
                return node.execute_command(*command)
            except ResponseError as error:
                if "WRONGTYPE" in str(error):
                    raise WrongType(self.name, key) from None
                raise

        return self.run_on_node(key, execute)

    def transaction(self, key: str, commands: Sequence[Command]) -> list[Any]:
        """Run commands in one transaction; returns their answers. All keys must be in the slot of `key`."""

        def run(node: redis.Redis) -> list[Any]:
            pipe: Any  # typed by names as well
            with node.pipeline(transaction=True) as pipe:
                for command in commands:
                    pipe.execute_command(*command)
                answers: list[Any] = pipe.execute()
            return answers

        return self.run_on_node(key, run)

    def run_script(self, script: str, keys: Sequence[str], arguments: Sequence[str | bytes]) -> Any:
        """Run a Lua script, sent to a node only if the node does not know it. All keys must be in one
        slot."""
        return self.run_on_node(keys[0], lambda node: node.register_script(script)(keys=keys, args=arguments))

    def nodes(self) -> dict[str, redis.Redis]:
        """Name → client of every node, as of now."""
        with self.translated_errors():
            return self._nodes.all_nodes()

    def primaries(self) -> list[redis.Redis]:
        """The nodes that accept writes."""
        with self.translated_errors():
            return self._nodes.primaries()

    @contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Translates errors of redis-py into one sentence each."""
        try:
            yield
        except AuthenticationError as error:
            raise OperationFailed(f"Redis at {self.name}: {_authentication_failure(error)}") from None
        except (ClusterDownError, AskError, TryAgainError, RedisClusterException) as error:
            raise StoreUnreachable(
                f"Redis at {self.name} does not answer: part of the cluster is down or moving: {error}"
            ) from None
        except ResponseError as error:
            if "WRONGTYPE" in str(error):
                raise WrongType(self.name, str(error)) from None
            # It refuses: out of memory, disk full, or read-only. A retry would not help.
            raise OperationFailed(f"Redis at {self.name} refuses: {_refusal(str(error))}") from None
        except RedisError as error:
            why = out_of_descriptors(error) or f"{error}; check that it runs at this URL{_hint(self.name)}"
            raise StoreUnreachable(f"Redis at {self.name} does not answer: {why}") from None


def _refusal(text: str) -> str:
    """A server's error text without the line of our script; advice for a failing disk."""
    reason = re.sub(r"\.? script: .*$", "", text).rstrip(".")
    return f"{reason}; free space on its disk" if reason.startswith("MISCONF") else reason


def _authentication_failure(error: AuthenticationError) -> str:
    """Why a server rejects this client's login. Without a password, the server's own text is about its
    protocol."""
    text = str(error)
    if "HELLO must be called" in text or "Authentication required" in text:
        return (
            "requires a password, and its URL has none; use redis://USER:PASSWORD@HOST:PORT/DB, or a file "
            f"with the password as ?{PASSWORD_FILE}=FILE"
        )
    return f"{text.rstrip('.')}; check user and password in its URL"


class _Nodes(Protocol):
    """Maps keys to nodes. Raises the errors of redis-py."""

    def node_for(self, key: str, /) -> redis.Redis: ...

    def follow(self, error: MovedError, /) -> None:
        """Handle a node's answer that a key is on another node."""

    def mark_stale(self) -> None:
        """Refresh the known nodes before the next use, because one did not answer."""

    def all_nodes(self) -> dict[str, redis.Redis]: ...

    def primaries(self) -> list[redis.Redis]: ...

    def close(self) -> None: ...


class _OneNode:
    """A single server for all keys."""

    def __init__(self, login: _Login) -> None:
        self._name = _without_password(login.url)
        self._redis = redis.Redis.from_url(
            login.url,
            socket_timeout=ANSWER_S_MAX,
            retry=_no_retry(),
            driver_info=NO_DRIVER_INFO,
            **login.options,
        )
        self._redis.connection_pool.make_connection()  # does not connect; raises for invalid options

    def node_for(self, _key: str, /) -> redis.Redis:
        return self._redis

    def follow(self, _error: MovedError, /) -> None:
        raise OperationFailed(
            f"Redis at {self._name}: is a node of a Redis Cluster, but configured as a single server; "
            "for a live twin set LIGHTWAVE_REDIS_CLUSTER=true"
        )

    def mark_stale(self) -> None:
        """Return None, because there is no other node."""

    def all_nodes(self) -> dict[str, redis.Redis]:
        return {self._name: self._redis}

    def primaries(self) -> list[redis.Redis]:
        return [self._redis]

    def close(self) -> None:
        self._redis.close()


class _ClusterNodes:
    """The nodes of a cluster, found from any one of them.

    Uses redis-py's cluster client only to map slots to nodes. Its way to send commands is not used: it either
    repeats commands that got no answer, or does not follow redirections of a transaction.
    """

    def __init__(self, login: _Login) -> None:
        parts = parse_url(login.url)  # type: ignore[no-untyped-call]  # redis-py gives it no types
        if not parts.get("host") or parts.get("db"):
            raise ValueError("a cluster needs a host, and has only database 0")
        self._login = login
        self._entry = (parts["host"], parts.get("port", 6379))
        self._lock = threading.Lock()
        self._cluster_client: Any = None  # a RedisCluster, most of which has no types
        self._is_stale = False

    def node_for(self, key: str, /) -> redis.Redis:
        cluster = self._cluster()
        node: redis.Redis = cluster.get_redis_connection(cluster.get_node_from_key(key))
        return node

    def follow(self, error: MovedError, /) -> None:
        self._cluster().nodes_manager.move_slot(error)

    def mark_stale(self) -> None:
        self._is_stale = True

    def all_nodes(self) -> dict[str, redis.Redis]:
        self.mark_stale()
        cluster = self._cluster()
        return {node.name: cluster.get_redis_connection(node) for node in cluster.get_nodes()}

    def primaries(self) -> list[redis.Redis]:
        self.mark_stale()
        cluster = self._cluster()
        return [cluster.get_redis_connection(node) for node in cluster.get_primaries()]

    def close(self) -> None:
        if self._cluster_client is not None:
            self._cluster_client.close()

    def _cluster(self) -> Any:
        if self._cluster_client is not None and not self._is_stale:
            return self._cluster_client
        with self._lock:
            failed: BaseException | None = None
            try:
                if self._cluster_client is None:
                    self._cluster_client = RedisCluster.from_url(
                        self._login.url,
                        socket_timeout=ANSWER_S_MAX,
                        retry=_no_retry(),
                        driver_info=NO_DRIVER_INFO,
                        **self._login.options,
                    )
                elif self._is_stale:
                    # Add the configured node: all known nodes may have been replaced.
                    self._cluster_client.nodes_manager.initialize(additional_startup_nodes_info=[self._entry])
            except RedisClusterException as error:
                failed = _cause(error)
            if failed is not None:
                raise failed  # outside the handler, which would replace its context
            self._is_stale = False
            return self._cluster_client


def _no_retry() -> Retry:
    return Retry(NoBackoff(), 0)


def _cause(error: BaseException) -> BaseException:
    """Return the underlying error if no node could be queried for the others."""
    inner = error.__cause__ or error.__context__
    return _cause(inner) if isinstance(inner, RedisError | RedisClusterException) else error


def _login(url: str) -> _Login:
    """Password and TLS options of a URL; InvalidInput if a file that it names cannot be used."""
    parts = urlsplit(url)
    options = parse_qs(parts.query)
    if url.startswith(TLS):
        ca, cert, key = (
            Path(options[name][0]) if name in options else None
            for name in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
        )
        TlsFiles(ca, cert, key).context()  # check now: redis-py would fail only when it connects
    files = options.pop(PASSWORD_FILE, None)
    if files is None:
        return _Login(url)
    if parts.password or "password" in options:
        raise InvalidInput(
            f"Redis URL {_without_password(url)!r}: has a password and {PASSWORD_FILE}; must have one"
        )
    rest = urlunsplit(parts._replace(query=urlencode(options, doseq=True)))
    return _Login(rest, {"password": read_password(Path(files[0]), f"Redis URL: {PASSWORD_FILE}")})


def _without_password(url: str) -> str:
    """The URL for people, without its password."""
    shown = re.sub(r"(?<=password=)[^&]*", "***", re.sub(r"(?<=//).*@", "***@", url))
    return shown.partition("?")[0] if shown.startswith(TLS) else shown


def _hint(url: str) -> str:
    """What else to check if no connection works."""
    if url.startswith(TLS):
        return " with TLS, and that ssl_ca_certs has the CA of its certificate"
    return " without TLS (rediss:// is with TLS)" if url.startswith("redis:") else ""
