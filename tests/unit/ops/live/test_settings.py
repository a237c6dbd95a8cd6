"""Settings of a live twin: environment over file over defaults, and what is wrong with them."""

from pathlib import Path

import pytest

from ops.live.settings import LiveSettings, live_settings, variable
from shared.basics.errors import InvalidInput


def test_defaults_are_this_machine() -> None:
    found = live_settings(environ={})
    assert (found.kafka, found.redis, found.host, found.prefix) == (
        "127.0.0.1:9092",
        "redis://127.0.0.1:6379/0",
        "127.0.0.1",
        "lightwave",
    )
    assert found.endpoints.topics.log == "lightwave.log"


def test_the_environment_stands_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "live.toml"
    file.write_text('kafka = "a:1,b:2"\nport = 9000\nredis_cluster = true\ndata = "/some/where"\n')
    environ = {"LIGHTWAVE_CONFIG": str(file), "LIGHTWAVE_PORT": "9001", "LIGHTWAVE_TOKEN": ""}
    found = live_settings(environ=environ)
    assert found == live_settings(file, environ={"LIGHTWAVE_PORT": "9001"})
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
def test_what_is_wrong_is_named(environ: dict[str, str], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        live_settings(environ=environ)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("brokers = 3", "brokers: no such setting; allowed: kafka, redis"),
        ("port = -1", "port: -1 is not allowed"),
        ("port =", "no TOML"),
    ],
)
def test_a_wrong_file_is_named_with_the_key(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "live.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=sentence):
        live_settings(file, environ={})


def test_every_setting_has_its_variable() -> None:
    assert [variable(name) for name in LiveSettings.model_fields][:3] == [
        "LIGHTWAVE_KAFKA",
        "LIGHTWAVE_REDIS",
        "LIGHTWAVE_REDIS_CLUSTER",
    ]
