"""The client of one Redis server or of a Redis Cluster: which node holds a key, and what its errors mean.

Nothing is sent a second time because an answer is missing, for it may have been carried out. Only what a node
refused because the key lies elsewhere (MOVED), and so did not carry out, is sent on to the node it named.
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
"""How often one request is sent on; keys that move more often are not worth running after."""

TLS = "rediss:"
NO_DRIVER_INFO = None
"""Of the client, to servers: to tell its version redis-py reads a file for each connection."""
PASSWORD_FILE = "password_file"  # noqa: S105 -- the option's name
"""Option of a URL that redis-py does not know: where the password stands."""

Answer = TypeVar("Answer")
Command = Sequence[str | bytes]


@dataclass(frozen=True, slots=True)
class _Login:
    """A URL as redis-py takes it, and a password that is not in it."""

    url: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)


class RedisClient:
    """Asks the node that holds a key. Connects when it is first asked. Safe to use from several threads.

    Raises StoreUnreachable where trying again later may help, and else OperationFailed.
    """

    def __init__(self, url: str, *, cluster: bool = False) -> None:
        self.name = _without_password(url)
        allowed = (
            "redis://HOST:PORT, rediss://…" if cluster else "redis://HOST:PORT/DB, rediss://…, unix://PATH"
        )
        try:
            login = _login(url)
            self._nodes: _Nodes = _ClusterNodes(login) if cluster else _OneNode(login)
        except TypeError as error:  # redis-py hands every word behind `?` on as an argument
            word = re.search(r"argument '(\w+)'", str(error))
            said = f"no such option {word[1]}" if word else "an option of a wrong type"
            raise InvalidInput(f"Redis URL {self.name!r}: {said}; allowed: {allowed}") from None
        except ValueError as error:
            # A password with a `/` in it is taken for a host and a port, and quoted.
            said = "not a URL" if "@" in url else str(error)
            raise InvalidInput(f"Redis URL {self.name!r}: {said}; allowed: {allowed}") from None

    def close(self) -> None:
        self._nodes.close()

    def run_on_node(self, key: str, operation: Callable[[redis.Redis], Answer]) -> Answer:
        """Put a question to the node that holds this key. It is put again, to another node, after MOVED: what
        a question does before its first request with a key it must be able to do twice."""
        with self.translated_errors():
            for _ in range(REDIRECTS_MAX):
                try:
                    return operation(self._nodes.node_for(key))
                except MovedError as error:
                    self._nodes.follow(error)
                except (redis.ConnectionError, redis.TimeoutError, ClusterDownError):
                    self._nodes.mark_stale()
                    raise
            raise RedisClusterException(f"{key} was sent on {REDIRECTS_MAX} times")

    def call(self, key: str, *command: str | bytes) -> Any:
        """One command on this key."""

        def one(node: Any) -> Any:  # the client types commands only by their names
            return node.execute_command(*command)

        return self.run_on_node(key, one)

    def transaction(self, key: str, commands: Sequence[Command]) -> list[Any]:
        """Their answers; all of their keys lie in the slot of this one."""

        def together(node: redis.Redis) -> list[Any]:
            pipe: Any  # typed by names as well
            with node.pipeline(transaction=True) as pipe:
                for command in commands:
                    pipe.execute_command(*command)
                answers: list[Any] = pipe.execute()
            return answers

        return self.run_on_node(key, together)

    def run_script(self, script: str, keys: Sequence[str], arguments: Sequence[str | bytes]) -> Any:
        """A Lua script, sent to a node only where it does not know it yet; all keys lie in one slot."""
        return self.run_on_node(keys[0], lambda node: node.register_script(script)(keys=keys, args=arguments))

    def nodes(self) -> dict[str, redis.Redis]:
        """Name → client of every node as they are now."""
        with self.translated_errors():
            return self._nodes.all_nodes()

    def primaries(self) -> list[redis.Redis]:
        """Those of them that take writes."""
        with self.translated_errors():
            return self._nodes.primaries()

    @contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Says in one sentence what came in the way."""
        try:
            yield
        except AuthenticationError as error:
            raise OperationFailed(f"Redis at {self.name}: {_authentication_failure(error)}") from None
        except (ClusterDownError, AskError, TryAgainError, RedisClusterException) as error:
            raise StoreUnreachable(
                f"Redis at {self.name} does not answer: part of the cluster is down or on the move: {error}"
            ) from None
        except ResponseError as error:
            # It answers, and refuses: out of memory, its disk is full, read only. Waiting would not help.
            raise OperationFailed(f"Redis at {self.name} refuses: {_refusal(str(error))}") from None
        except RedisError as error:
            why = out_of_descriptors(error) or f"{error}; see that it runs at this URL{_hint(self.name)}"
            raise StoreUnreachable(f"Redis at {self.name} does not answer: {why}") from None


def _refusal(text: str) -> str:
    """What a server says, without the place in a script of ours; for a disk that fails, what to do."""
    said = re.sub(r"\.? script: .*$", "", text).rstrip(".")
    return f"{said}; free space on its disk" if said.startswith("MISCONF") else said


def _authentication_failure(error: AuthenticationError) -> str:
    """Why a server lets this client not in; what it says itself without a password is of its protocol."""
    text = str(error)
    if "HELLO must be called" in text or "Authentication required" in text:
        return (
            "wants a password, and its URL has none; give redis://USER:PASSWORD@HOST:PORT/DB, or the file "
            f"that holds it as ?{PASSWORD_FILE}=FILE"
        )
    return f"{text.rstrip('.')}; see user and password of its URL"


class _Nodes(Protocol):
    """Who holds which key. What it raises are the errors of redis-py."""

    def node_for(self, key: str, /) -> redis.Redis: ...

    def follow(self, error: MovedError, /) -> None:
        """A node said that a key lies elsewhere."""

    def mark_stale(self) -> None:
        """A node did not answer: what is known of them may be old."""

    def all_nodes(self) -> dict[str, redis.Redis]: ...

    def primaries(self) -> list[redis.Redis]: ...

    def close(self) -> None: ...


class _OneNode:
    """One server holds everything."""

    def __init__(self, login: _Login) -> None:
        self._name = _without_password(login.url)
        self._redis = redis.Redis.from_url(
            login.url,
            socket_timeout=ANSWER_S_MAX,
            retry=_no_retry(),
            driver_info=NO_DRIVER_INFO,
            **login.options,
        )
        self._redis.connection_pool.make_connection()  # not connected; raises what is wrong with the options

    def node_for(self, _key: str, /) -> redis.Redis:
        return self._redis

    def follow(self, _error: MovedError, /) -> None:
        raise OperationFailed(
            f"Redis at {self._name}: is a node of a Redis Cluster, but was given as a server of its own; "
            "a live twin is told so by LIGHTWAVE_REDIS_CLUSTER=true"
        )

    def mark_stale(self) -> None:
        """There is no other."""

    def all_nodes(self) -> dict[str, redis.Redis]:
        return {self._name: self._redis}

    def primaries(self) -> list[redis.Redis]:
        return [self._redis]

    def close(self) -> None:
        self._redis.close()


class _ClusterNodes:
    """The nodes of a cluster, found from any one of them.

    redis-py's cluster client keeps who holds which slot. Its own way to send commands is not used: it either
    repeats what got no answer, or follows no redirection of a transaction.
    """

    def __init__(self, login: _Login) -> None:
        parts = parse_url(login.url)  # type: ignore[no-untyped-call]  # redis-py gives it no types
        if not parts.get("host") or parts.get("db"):
            raise ValueError("a cluster has a host, and no database but 0")
        self._login = login
        self._entry = (parts["host"], parts.get("port", 6379))
        self._lock = threading.Lock()
        self._found: Any = None  # a RedisCluster, most of which has no types
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
        if self._found is not None:
            self._found.close()

    def _cluster(self) -> Any:
        if self._found is not None and not self._is_stale:
            return self._found
        with self._lock:
            failed: BaseException | None = None
            try:
                if self._found is None:
                    self._found = RedisCluster.from_url(
                        self._login.url,
                        socket_timeout=ANSWER_S_MAX,
                        retry=_no_retry(),
                        driver_info=NO_DRIVER_INFO,
                        **self._login.options,
                    )
                elif self._is_stale:
                    # Not only the nodes known so far: all of them may have been replaced.
                    self._found.nodes_manager.initialize(additional_startup_nodes_info=[self._entry])
            except RedisClusterException as error:
                failed = _cause(error)
            if failed is not None:
                raise failed  # not while the other is handled: what led to it would be forgotten
            self._is_stale = False
            return self._found


def _no_retry() -> Retry:
    return Retry(NoBackoff(), 0)


def _cause(error: BaseException) -> BaseException:
    """What the last node said, where no node could tell who the others are."""
    inner = error.__cause__ or error.__context__
    return _cause(inner) if isinstance(inner, RedisError | RedisClusterException) else error


def _login(url: str) -> _Login:
    """What a URL says of password and TLS; InvalidInput where a file that it names does not do."""
    parts = urlsplit(url)
    options = parse_qs(parts.query)
    if url.startswith(TLS):
        ca, cert, key = (
            Path(options[name][0]) if name in options else None
            for name in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
        )
        TlsFiles(ca, cert, key).context()  # redis-py would find out only when it connects
    files = options.pop(PASSWORD_FILE, None)
    if files is None:
        return _Login(url)
    if parts.password or "password" in options:
        raise InvalidInput(
            f"Redis URL {_without_password(url)!r}: a password and {PASSWORD_FILE}; only one is allowed"
        )
    rest = urlunsplit(parts._replace(query=urlencode(options, doseq=True)))
    return _Login(rest, {"password": read_password(Path(files[0]), f"Redis URL: {PASSWORD_FILE}")})


def _without_password(url: str) -> str:
    """The URL as people may see it."""
    shown = re.sub(r"(?<=password=)[^&]*", "***", re.sub(r"(?<=//).*@", "***@", url))
    return shown.partition("?")[0] if shown.startswith(TLS) else shown


def _hint(url: str) -> str:
    """What else to look at where nothing comes of a connection."""
    if url.startswith(TLS):
        return ", with TLS, and that ssl_ca_certs names who signed its certificate"
    return ", without TLS (rediss:// is with it)" if url.startswith("redis:") else ""
