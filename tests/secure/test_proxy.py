"""A gateway behind nginx with TLS, configured by ops/deploy/nginx.conf."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ops.client.http_client import CA_FILE
from shared.runtimes.poll import poll_until
from shared.runtimes.tcp_ports import free_port
from shared.storage.files.tls_files import TlsFiles
from tests.support.authority import Authority
from tests.support.fake_twin import environment, lightwave
from tests.unit.tree.tidy import ROOT

TOKEN = "0123456789abcdef"  # noqa: S105 -- a test's
START_S_MAX = 60.0


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[int]:
    """Return the port of an nginx in front of a twin with a token."""
    folder = tmp_path_factory.mktemp("proxied")
    secret = folder / "token"
    secret.write_text(TOKEN)
    secret.chmod(0o600)
    behind, port = free_port(), free_port()
    up = [sys.executable, "-m", "ops.cli", "up", "--data", str(folder / "data"), "--port", str(behind)]
    with (
        running([*up, "--speed", "600", "--set", "pod.cubes=8"], LIGHTWAVE_TOKEN_FILE=str(secret)),
        running([nginx(), "-p", str(folder), "-c", str(write_config(folder, authority, behind, port))]),
    ):
        assert poll_until(lambda: send(authority, port, "GET", "/v1/clock")[0] == 200, START_S_MAX, 0.2)
        yield port


def nginx() -> str:
    path = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert path is not None, "nginx is not installed; on Debian: apt-get install nginx-light"
    return path


def write_config(folder: Path, authority: Authority, behind: int, port: int) -> Path:
    """Write the nginx.conf of the tree with the test's paths into a configuration that needs no root
    rights."""
    server = (ROOT / "ops/deploy/nginx.conf").read_text()
    for before, after in (
        ("listen 443", f"listen 127.0.0.1:{port}"),
        ("twin.example", "localhost"),
        ("/etc/ssl/twin/cert.pem", str(authority.cert)),
        ("/etc/ssl/twin/key.pem", str(authority.key)),
        ("127.0.0.1:8080", f"127.0.0.1:{behind}"),
    ):
        assert server.count(before) == 1
        server = server.replace(before, after)
    kept = "".join(
        f"{name}_temp_path {name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "" if os.geteuid() else "user root;"  # the owner of the folder
    begin = f"daemon off; pid nginx.pid; error_log error.log; {user} events {{}}"
    text = f"{begin} http {{ access_log off; {kept} {server} }}"
    path = folder / "nginx.conf"
    path.write_text(text)
    return path


@contextmanager
def running(words: list[str], **more: str) -> Iterator[None]:
    process = subprocess.Popen(words, env=environment("", **more), stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def send(
    authority: Authority, port: int, method: str, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, http.client.HTTPMessage, bytes]:
    """Send a request; return (status, headers, body), or (0, …) if there is no answer."""
    context = TlsFiles(authority.ca).context()
    link = http.client.HTTPSConnection("localhost", port, timeout=60, context=context)
    sent = {"Authorization": f"Bearer {TOKEN}"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    try:
        link.request(method, path, body=body, headers=sent)
        answer = link.getresponse()
        return answer.status, answer.headers, answer.read()
    except OSError:
        return 0, http.client.HTTPMessage(), b""
    finally:
        link.close()


def test_commands_work_over_the_proxy(proxied: int, authority: Authority) -> None:
    more = {CA_FILE: str(authority.ca), "LIGHTWAVE_TOKEN": TOKEN}
    url = f"https://localhost:{proxied}"
    done = lightwave("drain", "pod-0/cube-3", "-o", "json", url=url, **more)
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "accepted"), done
    done = lightwave("clock", "show", url=url, **(more | {"LIGHTWAVE_TOKEN": "wrong-wrong-wrong"}))
    assert done.returncode == 1, done


def test_the_gateway_authorizes_as_without_the_proxy(proxied: int, authority: Authority) -> None:
    def status(method: str, path: str, body: bytes | None = None, **headers: str) -> int:
        return send(authority, proxied, method, path, body, **headers)[0]

    json_type = {"Content_Type": "application/json"}
    assert status("GET", "/v1/clock", Authorization="Bearer wrong-wrong-wrong") == 401
    assert status("POST", "/v1/clock/pause", Sec_Fetch_Site="cross-site") == 403
    assert status("POST", "/v1/slices", b"{" + b" " * 70_000 + b"}", **json_type) == 413
    assert status("POST", "/v1/fabrics", b"{" + b" " * 9_000_000 + b"}", **json_type) == 413
    code, headers, _ = send(authority, proxied, "GET", "/v1/links?limit=1")
    assert code == 200
    assert "127.0.0.1" not in (headers["Link"] or "")


def test_events_arrive_as_they_happen(proxied: int, authority: Authority) -> None:
    """A buffering proxy would delay events until it has kilobytes of them."""
    context = TlsFiles(authority.ca).context()
    link = http.client.HTTPSConnection("localhost", proxied, timeout=60, context=context)
    link.request("GET", "/v1/events/stream?type=CubeDrained", headers={"Authorization": f"Bearer {TOKEN}"})
    stream = link.getresponse()
    assert stream.status == 200
    assert send(authority, proxied, "POST", "/v1/cubes/pod-0/cube-5/drain?wait=10")[0] == 200
    began_s = time.monotonic()
    while not (line := stream.readline()).startswith(b"data: "):
        assert time.monotonic() - began_s < 60
    assert b'"pod-0/cube-5"' in line or b"CubeDrain" in line
    link.close()
