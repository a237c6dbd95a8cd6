"""A living twin as users start it: a separate process on a free port, with its own folder."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shared.runtimes.poll import poll_until
from shared.runtimes.tcp_ports import free_port

LIGHTWAVE = str(Path(sys.executable).with_name("lightwave"))
READY_S_MAX = 60.0
REQUESTS = {"drain", "undrain", "inject", "clear", "request", "release"}
"""Commands that send a request and accept an idempotency key."""
TAKEN_S_MAX = 120.0
"""How long a request may wait on a busy machine."""


def cli(*words: str, url: str | None = None, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
    """Run a command. A request is repeated under its key until its whole outcome is on the log, because a
    busy twin may take longer than the command waits."""
    if url is None or words[0] not in REQUESTS or "--all" in words:
        return _run(words, url, timeout_s)
    if "--key" not in words:
        words = (*words, "--key", str(uuid.uuid4()))
    done = _run(words, url, timeout_s)
    until_s = time.monotonic() + TAKEN_S_MAX
    while _is_only_received(done.stdout) and time.monotonic() < until_s:
        done = _run(words, url, timeout_s)
    return done


def _is_only_received(output: str) -> bool:
    """Whether a command's output shows that its request is still pending."""
    if not output.startswith("{"):
        return output.startswith("received;")
    answer = json.loads(output)
    return answer.get("status") == "received" or answer.get("complete") is False


def _run(words: Sequence[str], url: str | None, timeout_s: float) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("LIGHTWAVE_")}
    if url is not None:
        env["LIGHTWAVE_URL"] = url
    return subprocess.run(
        [LIGHTWAVE, *words],
        env=env,
        text=True,
        capture_output=True,
        timeout=timeout_s,
        stdin=subprocess.DEVNULL,
    )


@dataclass
class LivingTwin:
    """A twin that tests start, query, kill and start again."""

    data: Path
    options: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)
    command: tuple[str, ...] = (LIGHTWAVE,)
    process: subprocess.Popen[bytes] | None = None
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        self.log = self.data.with_suffix(".stderr")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, *more: str) -> None:
        self.launch(*more)
        self.wait_ready()

    def launch(self, *more: str) -> None:
        """Start its process without waiting until it is ready."""
        with self.log.open("ab") as stderr:
            self.process = subprocess.Popen(
                [
                    *self.command,
                    "up",
                    "--port",
                    str(self.port),
                    *self._words(),
                    *more,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )

    def _words(self) -> tuple[str, ...]:
        return ("--data", str(self.data), *self.options)

    def wait_ready(self) -> None:
        until_s = time.monotonic() + READY_S_MAX
        while time.monotonic() < until_s:
            if self.process is None or self.process.poll() is not None:
                raise AssertionError(f"the twin ended: {self.log.read_text()[-2000:]}")
            try:
                self.get("/healthz")
            except (OSError, ValueError, http.client.HTTPException):
                time.sleep(0.02)
            else:
                return
        raise AssertionError(f"the twin is not ready: {self.log.read_text()[-2000:]}")

    def wait_clock(self, now_us: float) -> None:
        """Wait until its clock has passed a simulated time."""
        assert poll_until(lambda: self.get("/v1/clock")["now_us"] > now_us, TAKEN_S_MAX)

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return json.load(answer)

    def post(self, path: str, body: dict[str, Any] | None = None, key: str | None = None) -> Any:
        headers = {"Content-Type": "application/json", "Idempotency-Key": key or str(uuid.uuid4())}
        data = json.dumps(body or {}).encode()
        request = urllib.request.Request(self.url + path, data=data, headers=headers, method="POST")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def cli(self, *words: str) -> subprocess.CompletedProcess[str]:
        return cli(*words, url=self.url)

    def json(self, *words: str) -> Any:
        done = self.cli(*words, "-o", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def server_pid(self) -> int:
        return int((self.data / "redis" / "server.pid").read_text())

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(timeout=60)


def living(data: Path, *options: str, kind: type[LivingTwin] = LivingTwin) -> Iterator[LivingTwin]:
    """Run a twin. Its process is stopped in any case."""
    twin = kind(data, options)
    twin.start()
    try:
        yield twin
    finally:
        if twin.process is not None and twin.process.poll() is None:
            twin.stop()
