"""Settings of a live twin: environment variables, then one TOML file, then defaults."""

import os
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict, TomlConfigSettingsSource
from pydantic_settings import PydanticBaseSettingsSource as Source

from ops.client.token_variables import TOKEN, TOKEN_FILE
from ops.local.software_version import software_version
from ops.local.user_folders import user_folder
from services.gateway.text.validation_errors import problem_text
from shared.basics.errors import InvalidInput
from shared.runtimes.live.kafka.brokers import PLAINTEXT, Brokers, Mechanism, Protocol
from shared.runtimes.live.kafka.layout import Endpoints, Topics
from shared.storage.files.file_errors import file_error
from shared.storage.files.own_folders import is_own_folder
from shared.storage.files.secret_files import read_password, read_secret
from shared.storage.files.tls_files import TlsFiles
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from shared.storage.store.redis_store import RedisStore

CONFIG = "LIGHTWAVE_CONFIG"
FILE_BYTES_MAX = 1 << 20
"""Maximum size of a settings file."""


def default_data() -> Path:
    """`lightwave-live` in the user's state directory (XDG)."""
    return user_folder("state", "lightwave-live")


class LiveSettings(BaseSettings):
    """Hosts, ports and folders of a live twin's processes.

    A field is set by the variable LIGHTWAVE_ plus its name in capitals, or by its name in the TOML file."""

    model_config = SettingsConfigDict(
        frozen=True, case_sensitive=True, env_prefix="LIGHTWAVE_", env_ignore_empty=True
    )

    kafka: str = Field("127.0.0.1:9092", min_length=1, description="brokers, HOST:PORT, comma-separated")
    kafka_security_protocol: Protocol = Field(
        PLAINTEXT, description="security protocol: with or without TLS and SASL"
    )
    kafka_ca_file: Path | None = Field(None, description="trusted certificates, PEM; default: the system's")
    kafka_cert_file: Path | None = Field(None, description="client certificate for Kafka, PEM")
    kafka_key_file: Path | None = Field(
        None, description="key of the client certificate, PEM, without password"
    )
    kafka_sasl_mechanism: Mechanism | None = Field(None, description="SASL mechanism")
    kafka_user: str | None = Field(None, description="SASL user name")
    kafka_password_file: Path | None = Field(None, description="file with the SASL password")
    redis: str = Field("redis://127.0.0.1:6379/0", min_length=1, description="URL of the Redis")
    redis_cluster: bool = Field(False, description="whether the URL is a node of a Redis Cluster")
    digest_key_file: Path | None = Field(
        None,
        description="file with the secret key of the digests of stored states, the same for all processes",
    )
    prefix: str = Field(
        "lightwave", pattern=r"^[A-Za-z0-9_-]{1,80}$", description="prefix of topics and consumer groups"
    )
    data: Path = Field(
        default_factory=default_data, description="folder for copies of the log and for local servers"
    )
    snapshots: Path | None = Field(
        None, description="folder of the historian's snapshots; default: `snapshots` in the data folder"
    )
    host: str = Field("127.0.0.1", min_length=1, description="address that the gateway listens on")
    port: int = Field(8080, ge=0, le=65_535, description="port of the gateway; 0: any free port")
    token: str | None = Field(None, description="bearer token of an administrator of the gateway")
    token_file: Path | None = Field(None, description="file with that token, instead of `token`")
    tokens: Path | None = Field(None, description="file of the gateway's tokens, with names and roles")
    metrics_host: str = Field("127.0.0.1", min_length=1, description="address of /metrics of each process")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 -- the base class names it
        init_settings: Source,
        *_: Source,
        **__: Source,
    ) -> tuple[Source, ...]:
        """The class reads only its arguments; `live_settings` reads the environment and the file."""
        return (init_settings,)

    @property
    def endpoints(self) -> Endpoints:
        """The endpoints for the runtime."""
        secret = (
            b""
            if self.digest_key_file is None
            else read_password(self.digest_key_file, variable("digest_key_file")).encode()
        )
        return Endpoints(_brokers(self), self.redis, Topics(self.prefix), self.redis_cluster, secret)

    def snapshots_in(self, twin: str) -> Path:
        """Folder of a twin's snapshots by the historian, one folder per site in it."""
        return (self.snapshots or _own_part(self.data / "snapshots")) / twin

    def upgrades_in(self, twin: str) -> Path:
        """Folder of a twin's upgrade snapshots. They are part of the record; the historian's can be made
        again."""
        return _own_part(self.snapshots_in(twin).parent / "upgrades") / twin

    def snapshots_folder(self, twin: str, site: str) -> SnapshotFolder:
        """A site's snapshots, including its upgrade snapshots."""
        upgrades = SnapshotFolder(self.upgrades_in(twin) / site, site, software_version())
        return SnapshotFolder(self.snapshots_in(twin) / site, site, software_version(), upgrades)

    def shared_token(self) -> str | None:
        """The administrator's token, from its setting or its file."""
        if self.token and self.token_file:
            raise InvalidInput(f"{TOKEN} and {TOKEN_FILE}: only one of them must be set")
        return read_secret(self.token_file, TOKEN_FILE).strip() if self.token_file else self.token

    def store(self) -> RedisStore:
        """The state store; no connection is made yet."""
        return RedisStore(self.redis, cluster=self.redis_cluster)


def _own_part(folder: Path) -> Path:
    """A folder below a folder of the settings; OperationFailed if it is a link."""
    try:
        is_own_folder(folder)
    except OSError as error:
        raise file_error(folder, error, "snapshots") from None
    return folder


def live_settings(config: Path | None = None) -> LiveSettings:
    """The settings of this process; raises InvalidInput that names the variable or key, its value and what it
    must be."""
    if config is None and os.environ.get(CONFIG):
        config = Path(os.environ[CONFIG])
    file = _toml(config)
    _settings(lambda name: f"{config}: {name}", file)  # alone, so that errors in the file name the file
    environment = EnvSettingsSource(LiveSettings, case_sensitive=False)  # variables are in capitals
    return _settings(variable, environment, file)


def _brokers(given: LiveSettings) -> Brokers:
    """How to connect to Kafka; raises InvalidInput if settings contradict each other or a file is invalid."""
    tls = TlsFiles(given.kafka_ca_file, given.kafka_cert_file, given.kafka_key_file)
    found = Brokers(
        given.kafka, given.kafka_security_protocol, tls, given.kafka_sasl_mechanism, given.kafka_user
    )
    with_protocol = f"with {variable('kafka_security_protocol')}={found.protocol}"
    for name in ("kafka_sasl_mechanism", "kafka_user", "kafka_password_file"):
        if (getattr(given, name) is None) == found.is_sasl:
            raise InvalidInput(
                f"{variable(name)}: {'is required' if found.is_sasl else 'is not used'} {with_protocol}"
            )
    for name in ("kafka_ca_file", "kafka_cert_file", "kafka_key_file"):
        if getattr(given, name) is not None and not found.is_tls:
            raise InvalidInput(f"{variable(name)}: is not used {with_protocol}")
    if found.is_tls:
        tls.context()
    if tls.key is not None:
        if tls.cert is None:
            raise InvalidInput(f"{variable('kafka_key_file')}: requires {variable('kafka_cert_file')}")
        read_secret(tls.key, variable("kafka_key_file"))
    if given.kafka_password_file is None:
        return found
    return replace(found, password=read_password(given.kafka_password_file, variable("kafka_password_file")))


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return f"LIGHTWAVE_{name.upper()}"


def _toml(path: Path | None) -> TomlConfigSettingsSource:
    try:
        if path is not None:
            # The library would ignore a missing file or a pipe, and expand ~.
            if path.is_fifo():
                raise OSError("is a pipe, not a file")
            with path.open("rb") as file:
                if len(file.read(FILE_BYTES_MAX + 1)) > FILE_BYTES_MAX:
                    raise OSError(f"is larger than {FILE_BYTES_MAX // 2**20} MB, the maximum")
        return TomlConfigSettingsSource(LiveSettings, path and path.absolute())
    except OSError as error:
        raise InvalidInput(f"settings file {path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"settings file {path}: is not valid TOML: {error}") from None


def _settings(name_of: Callable[[str], str], *sources: Source) -> LiveSettings:
    """Settings from the sources, the first over the others; `name_of` names a field in the first."""
    try:
        return LiveSettings(_build_sources=(sources, {}))
    except ValidationError as error:
        first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        raise InvalidInput(
            f"{name_of(name)}: no such setting; must be one of {', '.join(LiveSettings.model_fields)}"
        )
    about = LiveSettings.model_fields[name].description
    raise InvalidInput(f"{name_of(name)}: {first['input']!r} is not allowed; {problem_text(first)} ({about})")
