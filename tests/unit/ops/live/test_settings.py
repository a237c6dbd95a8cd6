"""Settings of a live twin: environment over file over defaults, and what is wrong with them."""

import os
from pathlib import Path

import pytest

from ops.live.settings import LiveSettings, live_settings, variable
from shared.basics.errors import InvalidInput


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("LIGHTWAVE_"):
            monkeypatch.delenv(name)


def set_all(monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)


def test_defaults_are_this_machine() -> None:
    found = live_settings()
    assert (found.kafka, found.redis, found.host, found.prefix) == (
        "127.0.0.1:9092",
        "redis://127.0.0.1:6379/0",
        "127.0.0.1",
        "lightwave",
    )
    assert found.endpoints.topics.log == "lightwave.log"


def test_the_environment_stands_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "live.toml"
    file.write_text('kafka = "a:1,b:2"\nport = 9000\nredis_cluster = true\ndata = "/some/where"\n')
    set_all(monkeypatch, {"LIGHTWAVE_CONFIG": str(file), "LIGHTWAVE_PORT": "9001", "LIGHTWAVE_TOKEN": ""})
    found = live_settings()
    monkeypatch.delenv("LIGHTWAVE_CONFIG")
    assert found == live_settings(file)
    assert (found.kafka, found.port, found.redis_cluster, found.token) == ("a:1,b:2", 9001, True, None)
    assert found.data == Path("/some/where")


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"LIGHTWAVE_PORT": "70000"}, "LIGHTWAVE_PORT: '70000' is not allowed"),
        ({"LIGHTWAVE_PORT": "x"}, "LIGHTWAVE_PORT: 'x' is not allowed"),
        ({"LIGHTWAVE_PREFIX": "a b"}, "LIGHTWAVE_PREFIX: 'a b' is not allowed"),
        ({"LIGHTWAVE_REDIS_CLUSTER": "maybe"}, "LIGHTWAVE_REDIS_CLUSTER: 'maybe' is not allowed"),
        ({"LIGHTWAVE_CONFIG": "/no/such/file"}, "settings file /no/such/file: No such file"),
    ],
)
def test_what_is_wrong_is_named(
    environ: dict[str, str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_all(monkeypatch, environ)
    with pytest.raises(InvalidInput, match=sentence):
        live_settings()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("brokers = 3", "brokers: no such setting; allowed: kafka, redis"),
        ("PORT = 3", "PORT: no such setting"),
        ("port = -1", "port: -1 is not allowed"),
        ("port =", "no TOML"),
    ],
)
def test_a_wrong_file_is_named_with_the_key(
    tmp_path: Path, text: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "live.toml"
    file.write_text(text)
    monkeypatch.setenv("LIGHTWAVE_PORT", "9001")  # hides no mistake in the file
    with pytest.raises(InvalidInput, match=sentence):
        live_settings(file)


def test_a_file_that_cannot_be_read_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidInput, match=rf"^settings file {tmp_path}: Is a directory$"):
        live_settings(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match=rf"^settings file {tmp_path}/pipe: a pipe, no file$"):
        live_settings(tmp_path / "pipe")
    assert live_settings(Path("/dev/null")) == live_settings()
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "live.toml").write_text("port = 9000\n")
    with pytest.raises(InvalidInput, match=r"^settings file ~/live.toml: No such file or directory$"):
        live_settings(Path("~/live.toml"))


def test_settings_that_are_made_directly_look_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(monkeypatch, {"LIGHTWAVE_PORT": "9001", "LIGHTWAVE_CONFIG": "/no/such/file"})
    assert LiveSettings(redis="redis://a:1/0").port == 8080


def test_every_setting_has_its_variable() -> None:
    assert [variable(name) for name in LiveSettings.model_fields][:3] == [
        "LIGHTWAVE_KAFKA",
        "LIGHTWAVE_REDIS",
        "LIGHTWAVE_REDIS_CLUSTER",
    ]
