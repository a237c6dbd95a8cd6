"""Group `streams`: the cost of open event streams for other clients of an embedded twin."""

import json
import selectors
import socket
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.synchronize import Event as Flag
from pathlib import Path
from urllib.parse import urlsplit

from shared.basics.errors import OperationFailed
from tools.bench.figure import BenchFigure
from tools.bench.processes import running_twin

STREAMS = 200
NAMES = 4
SPEED = "600"
"""Ten simulated minutes per second: about ten messages per second to every stream."""
PATHS = ("/v1/clock", "/v1/cubes", "/v1/events?limit=100")
OPEN_S_MAX = 30.0


def measure_streams(quick: bool) -> list[BenchFigure]:
    """Measure each query in turns without a stream, and with 200 streams of several names that all get every
    message."""
    rounds, asked = (2, 40) if quick else (6, 100)
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "tokens")
        names = {f"reader-{n}": f"a-token-of-reader-{n}" for n in range(NAMES)}
        file.write_text("".join(f"{name} reader {said}\n" for name, said in names.items()))
        file.chmod(0o600)
        data = Path(scratch, "twin")
        tokens = list(names.values())
        with running_twin(data, "--speed", SPEED, "--seed", "7", "--tokens", str(file)) as (_, url):
            alone: dict[str, list[float]] = {path: [] for path in PATHS}
            beside: dict[str, list[float]] = {path: [] for path in PATHS}
            for _ in range(rounds):
                _ask(url, tokens[0], alone, asked)
                with _streams(url, tokens):
                    _ask(url, tokens[0], beside, asked)
    figures = []
    for path in PATHS:
        without_s, with_s = statistics.median(alone[path]), statistics.median(beside[path])
        how = f"median of {rounds * asked}; {STREAMS} streams of {NAMES} names at × {SPEED}"
        figures.append(BenchFigure(f"{path} with streams", round(1e3 * with_s, 2), "ms", "-", how))
        how = "over the same without a stream, in turns in one run"
        figures.append(
            BenchFigure(f"{path} with over without streams", round(with_s / without_s, 2), "ratio", "-", how)
        )
    return figures


def _ask(url: str, token: str, spans: dict[str, list[float]], count: int) -> None:
    for _ in range(count):
        for path, found in spans.items():
            headers = {"Authorization": f"Bearer {token}"}
            request = urllib.request.Request(url + path, headers=headers)  # noqa: S310 -- our own twin's URL
            began_s = time.perf_counter()
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 -- as above
                json.load(answer)
            found.append(time.perf_counter() - began_s)


@contextmanager
def _streams(url: str, tokens: list[str]) -> Iterator[None]:
    """Keep `STREAMS` streams open, read by a separate process."""
    context = get_context("spawn")
    all_open, ended = context.Event(), context.Event()
    reader = context.Process(target=_read, args=(url, tokens, all_open, ended), daemon=True)
    reader.start()
    try:
        if not all_open.wait(OPEN_S_MAX):
            raise OperationFailed(f"{STREAMS} streams did not open within {OPEN_S_MAX:g} s")
        yield
    finally:
        ended.set()
        reader.join(OPEN_S_MAX)


def _read(url: str, tokens: list[str], all_open: Flag, ended: Flag) -> None:
    place = urlsplit(url)
    address = (str(place.hostname), int(place.port or 80))
    waiting = selectors.DefaultSelector()
    for n in range(STREAMS):
        connection = socket.create_connection(address, timeout=OPEN_S_MAX)
        words = f"Host: {address[0]}\r\nAuthorization: Bearer {tokens[n % NAMES]}\r\n"
        connection.sendall(f"GET /v1/events/stream HTTP/1.1\r\n{words}\r\n".encode())
        if b" 200 " not in connection.recv(4_096):
            raise OperationFailed("a stream was refused")
        connection.setblocking(False)
        waiting.register(connection, selectors.EVENT_READ, connection)
    all_open.set()
    while not ended.is_set():
        for key, _ in waiting.select(0.2):
            key.data.recv(65_536)
