"""The containers and processes of a live twin match the rest of the tree."""

import json
import re
import subprocess
from importlib import resources
from pathlib import Path

import click
import jsonschema
import pytest
import yaml

from ops.live.settings import LiveSettings, variable
from ops.servers.kafka_jars import kafka_version
from ops.servers.kafka_server import ONE_NODE
from ops.servers.redis_server import DURABLE_SETTINGS
from services.service_names import service_names
from tests.support.deployment import (
    VARIABLE,
    Compose,
    commands_of,
    compose,
    filled,
    own_containers,
    parse,
    procfile,
    services,
)
from tests.unit.tree.tidy import ROOT

SERVICES = [*service_names()]
LIVE_PROCESSES = sorted([*SERVICES, "gateway", "historian", "sequencer"])
MAKEFILE_VARIABLES = {"PODS", "SPEED", "PORT"}


# --- the Compose file as such -------------------------------------------------------------------------------


def problems(document: Compose) -> list[str]:
    """Return the violations of the Compose specification's schema."""
    place = resources.files("check_jsonschema") / "builtin_schemas/vendor/compose-spec.json"
    schema = json.loads(place.read_text())
    checker = jsonschema.validators.validator_for(schema)
    checker.check_schema(schema)
    return [error.message for error in checker(schema).iter_errors(document)]


def test_the_file_is_what_the_compose_specification_allows() -> None:
    assert problems(compose()) == []


@pytest.mark.parametrize(
    ("service", "key", "value"),
    [
        ("redis", "comand", ["redis-server"]),
        ("gateway", "ports", "8080"),
        ("init", "depends_on", {"kafka": {"condition": "running"}}),
        ("cubes", "stop_grace_period", 15),
        ("kafka", "volumes", {"kafka": "/data"}),
    ],
)
def test_the_specification_refuses_errors(service: str, key: str, value: object) -> None:
    document = compose()
    document["services"][service][key] = value
    assert len(problems(document)) == 1


def test_only_known_variables_are_requested_and_none_must_be_given() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    request = {match[1]: match[2] for match in VARIABLE.finditer(text)}
    assert request == dict.fromkeys(MAKEFILE_VARIABLES, "-")
    assert text.count("$") == len(VARIABLE.findall(text))


# --- what runs ----------------------------------------------------------------------------------------------


def test_every_service_has_its_container_and_its_process() -> None:
    assert sorted(services()) == sorted([*LIVE_PROCESSES, "init", "kafka", "redis"])
    assert sorted(procfile()) == sorted([*LIVE_PROCESSES, "kafka", "redis"])


@pytest.mark.parametrize("name", LIVE_PROCESSES)
def test_each_runs_the_command_of_its_name(name: str) -> None:
    command = ["worker", name] if name in SERVICES else [name]
    expected = ["lightwave", "live", *command, "--wait"]
    assert services()[name]["command"][: len(expected)] == expected
    kept, run = commands_of(procfile()[name])[-2:]
    assert run == expected
    assert kept[-len(run) - 2 : -len(run)] == [name, "--"]


@pytest.mark.parametrize("name", sorted(own_containers()))
def test_every_command_of_a_container_can_be_given(name: str) -> None:
    words = [filled(word) for word in services()[name]["command"]]
    assert parse(words).split()[0] == "live"


@pytest.mark.parametrize("name", sorted(procfile()))
def test_every_command_of_a_process_can_be_given(name: str) -> None:
    paths = [parse(words) for words in commands_of(procfile()[name])]
    assert paths[-2] == "live supervise"
    assert {path.split()[0] for path in paths} == {"live"}


def test_a_command_that_cannot_be_given_is_found() -> None:
    with pytest.raises(click.UsageError):
        parse(["lightwave", "live", "worker", "no-such-service"])
    with pytest.raises(click.UsageError):
        parse(["lightwave", "live", "init", "--no-such-option"])


def test_the_twin_is_made_in_the_same_way_by_both() -> None:
    (made, *_) = commands_of(procfile()["sequencer"])
    assert made == [filled(word) for word in services()["init"]["command"]]


# --- how they are set up ------------------------------------------------------------------------------------


def test_every_setting_of_ours_exists_and_is_allowed() -> None:
    known = {variable(name): name for name in LiveSettings.model_fields}
    for name, service in own_containers().items():
        environment = service["environment"]
        assert environment.keys() <= known.keys(), name
        values = {known[key]: filled(value) for key, value in environment.items()}
        settings = LiveSettings.model_validate(values, strict=False)
        assert settings.kafka == "kafka:9092"
        assert settings.redis == "redis://twin@redis:6379/0?password_file=/run/secrets/redis-password"
        assert settings.kafka_user == "twin"
        files = {settings.kafka_password_file, settings.token_file} - {None}
        assert {str(path) for path in files} <= {f"/run/secrets/{secret}" for secret in service["secrets"]}


def test_kafka_is_the_one_that_is_tested_with_the_same_settings() -> None:
    kafka = services()["kafka"]
    assert kafka["image"].partition("@")[0] == f"apache/kafka:{kafka_version()}"
    environment = kafka["environment"]
    with_login = {
        "inter.broker.listener.name": "SASL_PLAINTEXT",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
    }
    values = (ONE_NODE | with_login).items()
    set_alike = {f"KAFKA_{key.upper().replace('.', '_')}": value for key, value in values}
    assert {key: environment.get(key) for key in set_alike} == set_alike
    assert environment["KAFKA_ADVERTISED_LISTENERS"] == "SASL_PLAINTEXT://kafka:9092"
    assert kafka["volumes"] == [f"kafka:{environment['KAFKA_LOG_DIRS']}"]
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", environment["CLUSTER_ID"])


def test_redis_keeps_confirmed_writes() -> None:
    redis = services()["redis"]
    assert redis["image"].partition("@")[0] == "redis:7"
    binary, *words = redis["command"]
    assert binary == "redis-server"
    expected = {
        f"--{key}": value
        for key, value in (DURABLE_SETTINGS | {"aclfile": "/run/secrets/redis-users"}).items()
    }
    assert dict(zip(words[::2], words[1::2], strict=True)) == expected
    assert redis["volumes"] == ["redis:/data"]


def test_a_service_can_be_scaled() -> None:
    for name, service in services().items():
        assert "container_name" not in service, name
        assert "hostname" not in service, name
        assert ("ports" in service) == (name == "gateway"), name


def test_only_the_gateway_is_published_to_this_machine_alone_and_watched() -> None:
    gateway = services()["gateway"]
    assert [filled(port) for port in gateway["ports"]] == ["127.0.0.1:8080:8080"]
    assert gateway["environment"]["LIGHTWAVE_PORT"] == "8080"
    check = gateway["healthcheck"]["test"]
    assert check[:3] == ["CMD", "python", "-c"]
    assert "http://127.0.0.1:8080/readyz" in check[3]
    assert compile(check[3], "healthcheck", "exec").co_names[-1] == "urlopen"


def test_all_wait_for_the_twin_and_are_started_again() -> None:
    for name, service in services().items():
        assert service["restart"] == ("no" if name == "init" else "unless-stopped"), name
        if name in LIVE_PROCESSES:
            assert service["depends_on"] == {"init": {"condition": "service_completed_successfully"}}, name
    volumes = {volume.split(":")[0] for each in services().values() for volume in each.get("volumes", [])}
    assert volumes == compose()["volumes"].keys()


# --- what they may ------------------------------------------------------------------------------------------


def test_no_container_has_more_than_it_needs() -> None:
    for name, service in services().items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["mem_limit"] in ("512m", "1g"), name
        assert (service["cpus"], service["pids_limit"]) == (1.0, 512), name
        assert not {"cap_add", "privileged", "network_mode", "pid"} & service.keys(), name


def test_kafka_and_redis_are_on_a_network_that_leads_nowhere() -> None:
    assert compose()["networks"] == {"inside": {"internal": True}, "outside": None}
    for name, service in services().items():
        assert service["networks"] == ["inside", *(["outside"] if name == "gateway" else [])], name


@pytest.mark.integration
def test_each_secret_is_made_and_used(tmp_path: Path) -> None:
    made = make_secrets(tmp_path)
    secrets = compose()["secrets"]
    assert {name: row["file"] for name, row in secrets.items()} == {name: f"secrets/{name}" for name in made}
    assert {name for each in services().values() for name in each.get("secrets", [])} == secrets.keys()
    text = (ROOT / "docker-compose.yml").read_text()
    assert all(f"/run/secrets/{name}" in text for name in made)


@pytest.mark.integration
def test_secrets_are_for_their_owner_and_stay(tmp_path: Path) -> None:
    made = make_secrets(tmp_path)
    modes = {name: (tmp_path / "secrets" / name).stat().st_mode & 0o777 for name in made}
    assert modes == dict.fromkeys(made, 0o600) | {"redis-users": 0o644}
    drawn = [made[name] for name in ("token", "kafka-password", "redis-password")]
    assert len({*drawn}) == 3
    assert all(re.fullmatch(r"[0-9a-f]{48}\n", secret) for secret in drawn)
    assert f'user_twin="{made["kafka-password"].strip()}"' in made["kafka-jaas"]
    assert made["redis-password"].strip() not in made["redis-users"]
    assert make_secrets(tmp_path) == made


@pytest.mark.integration
def test_the_rights_in_redis_are_those_that_are_documented(tmp_path: Path) -> None:
    rights = " ".join((ROOT / "ops/deploy/redis-rights").read_text().split())
    assert rights in " ".join((ROOT / "docs/how-to/secure.md").read_text().split())
    assert rights in make_secrets(tmp_path)["redis-users"]


def make_secrets(folder: Path) -> dict[str, str]:
    """Run the script on the folder `secrets` of this one; return name → text."""
    script = ROOT / "ops/deploy/secrets.sh"
    subprocess.run([script, folder / "secrets"], check=True)
    return {path.name: path.read_text() for path in (folder / "secrets").iterdir()}


# --- the image ----------------------------------------------------------------------------------------------


def test_the_image_contains_the_tested_sources() -> None:
    text = (ROOT / "Dockerfile").read_text()
    assert "FROM python:3.11-slim" in text
    installs = [command for command in text.replace("\\\n", " ").splitlines() if "pip install" in command]
    locked = [command for command in installs if "--require-hashes --only-binary :all:" in command]
    offline = [command for command in installs if "--no-index --no-deps --no-build-isolation" in command]
    assert sorted(locked + offline) == sorted(installs)
    assert [re.findall(r"locks/(\w+)\.txt", command) for command in locked] == [["build", "run", "live"]]
    copied = {word for line in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE) for word in line.split()}
    ignored = (ROOT / ".dockerignore").read_text()
    assert {line[1:] for line in ignored.splitlines() if line.startswith("!")} == copied
    assert all((ROOT / word).exists() for word in copied)
    data = services()["gateway"]["volumes"][0].split(":")[1]
    assert f"LIGHTWAVE_DATA={data}" in text


def test_the_documented_value_of_a_variable_is_its_default() -> None:
    shown = filled("${PODS:-1} ${LIGHTWAVE_TOKEN:?needed} ${PORT:-8080}")
    assert yaml.safe_load(f"[{shown.replace(' ', ',')}]") == [1, "given", 8080]
