"""Settings of a live twin: environment over file over defaults, and the sentence for each error."""

import os
import ssl
from pathlib import Path

import pytest
from faust.auth import SASLCredentials, SSLCredentials

from ops.live.settings import LiveSettings, live_settings, variable
from shared.basics.errors import InvalidInput
from shared.runtimes.live.worker.faust_pump import credentials
from tests.support.authority import Authority


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("LIGHTWAVE_"):
            monkeypatch.delenv(name)


def set_all(monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)


def test_defaults_are_this_machine() -> None:
    settings = live_settings()
    assert (settings.kafka, settings.redis, settings.host, settings.prefix) == (
        "127.0.0.1:9092",
        "redis://127.0.0.1:6379/0",
        "127.0.0.1",
        "lightwave",
    )
    assert settings.endpoints.topics.log == "lightwave.log"


def test_the_environment_overrides_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "live.toml"
    file.write_text('kafka = "a:1,b:2"\nport = 9000\nredis_cluster = true\ndata = "/some/where"\n')
    set_all(monkeypatch, {"LIGHTWAVE_CONFIG": str(file), "LIGHTWAVE_PORT": "9001", "LIGHTWAVE_TOKEN": ""})
    settings = live_settings()
    monkeypatch.delenv("LIGHTWAVE_CONFIG")
    assert settings == live_settings(file)
    assert (settings.kafka, settings.port, settings.redis_cluster, settings.token) == (
        "a:1,b:2",
        9001,
        True,
        None,
    )
    assert settings.data == Path("/some/where")


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
def test_an_invalid_setting_is_named(
    environ: dict[str, str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_all(monkeypatch, environ)
    with pytest.raises(InvalidInput, match=sentence):
        live_settings()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("brokers = 3", "brokers: no such setting; must be one of kafka, kafka_security_protocol"),
        ("PORT = 3", "PORT: no such setting"),
        ("port = -1", "port: -1 is not allowed"),
        ("port =", "is not valid TOML"),
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


def test_an_unreadable_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match=rf"^settings file {tmp_path}: Is a directory$"):
        live_settings(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match=rf"^settings file {tmp_path}/pipe: is a pipe, not a file$"):
        live_settings(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match=r"^settings file /dev/zero: is larger than 1 MB, the maximum$"):
        live_settings(Path("/dev/zero"))
    assert live_settings(Path("/dev/null")) == live_settings()
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "live.toml").write_text("port = 9000\n")
    with pytest.raises(InvalidInput, match=r"^settings file ~/live.toml: No such file or directory$"):
        live_settings(Path("~/live.toml"))


def test_settings_from_python_ignore_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(monkeypatch, {"LIGHTWAVE_PORT": "9001", "LIGHTWAVE_CONFIG": "/no/such/file"})
    assert LiveSettings(redis="redis://a:1/0").port == 8080


@pytest.mark.integration
class TestKafka:
    """The connection to Kafka, from compatible settings."""

    @pytest.fixture
    def kafka_settings(self, tmp_path: Path) -> dict[str, str]:
        secret = tmp_path / "password"
        secret.write_text("s3cret\n")
        secret.chmod(0o600)
        return {
            "LIGHTWAVE_KAFKA": "a:1, b:2",
            "LIGHTWAVE_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "LIGHTWAVE_KAFKA_CA_FILE": str(Authority(tmp_path / "ca").ca),
            "LIGHTWAVE_KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
            "LIGHTWAVE_KAFKA_USER": "twin",
            "LIGHTWAVE_KAFKA_PASSWORD_FILE": str(secret),
        }

    def test_every_client_has_the_same_arguments(
        self, kafka_settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        set_all(monkeypatch, kafka_settings)
        brokers = live_settings().endpoints.kafka
        arguments = brokers.arguments()
        context = arguments.pop("ssl_context")
        assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
        assert arguments == {
            "bootstrap_servers": ["a:1", "b:2"],
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_plain_username": "twin",
            "sasl_plain_password": "s3cret",
        }
        assert str(brokers) == "a:1, b:2"
        assert "s3cret" not in repr(brokers)
        login = credentials(brokers)
        assert isinstance(login, SASLCredentials)
        assert (login.protocol.value, login.mechanism.value) == ("SASL_SSL", "SCRAM-SHA-512")
        assert (login.username, login.password) == ("twin", "s3cret")
        assert login.ssl_context is not None

    def test_without_login_or_tls(
        self, kafka_settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert credentials(live_settings().endpoints.kafka) is None
        ca = kafka_settings["LIGHTWAVE_KAFKA_CA_FILE"]
        set_all(monkeypatch, {"LIGHTWAVE_KAFKA_SECURITY_PROTOCOL": "SSL", "LIGHTWAVE_KAFKA_CA_FILE": ca})
        assert isinstance(credentials(live_settings().endpoints.kafka), SSLCredentials)

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            (
                {"SECURITY_PROTOCOL": "TLS"},
                "LIGHTWAVE_KAFKA_SECURITY_PROTOCOL: 'TLS' is not allowed; .*SSL",
            ),
            (
                {"SASL_MECHANISM": "GSSAPI"},
                "LIGHTWAVE_KAFKA_SASL_MECHANISM: 'GSSAPI' is not allowed; .*SCRAM",
            ),
            (
                {"USER": ""},
                "LIGHTWAVE_KAFKA_USER: is required with LIGHTWAVE_KAFKA_SECURITY_PROTOCOL=SASL_SSL",
            ),
            ({"PASSWORD_FILE": ""}, "LIGHTWAVE_KAFKA_PASSWORD_FILE: is required with"),
            ({"SECURITY_PROTOCOL": "SSL"}, "LIGHTWAVE_KAFKA_SASL_MECHANISM: is not used with"),
            ({"SECURITY_PROTOCOL": "SASL_PLAINTEXT"}, "LIGHTWAVE_KAFKA_CA_FILE: is not used with"),
            ({"KEY_FILE": "/none"}, "LIGHTWAVE_KAFKA_KEY_FILE: requires LIGHTWAVE_KAFKA_CERT_FILE"),
            ({"CA_FILE": "/none"}, "CA file /none: No such file or directory"),
            ({"PASSWORD_FILE": "/none"}, "LIGHTWAVE_KAFKA_PASSWORD_FILE /none: No such file or directory"),
        ],
    )
    def test_incompatible_settings_are_named(
        self,
        kafka_settings: dict[str, str],
        change: dict[str, str],
        sentence: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        set_all(
            monkeypatch, kafka_settings | {f"LIGHTWAVE_KAFKA_{name}": value for name, value in change.items()}
        )
        with pytest.raises(InvalidInput, match=f"^{sentence}") as refused:
            _ = live_settings().endpoints
        assert "s3cret" not in str(refused.value)

    def test_a_password_that_others_may_read_is_refused(
        self, kafka_settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Path(kafka_settings["LIGHTWAVE_KAFKA_PASSWORD_FILE"]).chmod(0o644)
        set_all(monkeypatch, kafka_settings)
        with pytest.raises(InvalidInput, match=r"^LIGHTWAVE_KAFKA_PASSWORD_FILE .*other users can access it"):
            _ = live_settings().endpoints


def test_every_setting_has_its_variable() -> None:
    assert [variable(name) for name in LiveSettings.model_fields][:3] == [
        "LIGHTWAVE_KAFKA",
        "LIGHTWAVE_KAFKA_SECURITY_PROTOCOL",
        "LIGHTWAVE_KAFKA_CA_FILE",
    ]
