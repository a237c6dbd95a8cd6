"""Where the parts of a live twin are: from the environment, over one TOML file, over the defaults."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from ops.common.folders import user_folder
from schemas.body import Model
from shared.basics.errors import InvalidInput
from shared.runtimes.live.kafka.layout import Endpoints, Topics
from shared.storage.redis_store import RedisStore

CONFIG = "LIGHTWAVE_CONFIG"


def default_data() -> Path:
    """`lightwave-live` in the user's state directory (XDG)."""
    return user_folder("state", "lightwave-live")


class LiveSettings(Model):
    """Every host, port and folder that a live twin's processes use. A field is set by the variable
    LIGHTWAVE_ and its name in capitals, or by its name in the TOML file."""

    kafka: str = Field("127.0.0.1:9092", min_length=1, description="brokers, HOST:PORT, comma separated")
    redis: str = Field("redis://127.0.0.1:6379/0", min_length=1, description="URL of the Redis")
    redis_cluster: bool = Field(False, description="whether that is a node of a Redis Cluster")
    prefix: str = Field(
        "lightwave", pattern=r"^[A-Za-z0-9_-]{1,80}$", description="beginning of topics and consumer groups"
    )
    data: Path = Field(
        default_factory=default_data, description="folder of the gateway's copy and local servers"
    )
    host: str = Field("127.0.0.1", min_length=1, description="address that the gateway listens on")
    port: int = Field(8080, ge=0, le=65_535, description="port of the gateway; 0: any free one")
    token: str | None = Field(None, description="bearer token that the gateway's clients must bring")
    metrics_host: str = Field("127.0.0.1", min_length=1, description="address of /metrics of each process")

    @property
    def endpoints(self) -> Endpoints:
        """What the runtime needs to know."""
        return Endpoints(self.kafka, self.redis, Topics(self.prefix), self.redis_cluster)

    def store(self) -> RedisStore:
        """The state store, not asked yet whether it answers."""
        return RedisStore(self.redis, cluster=self.redis_cluster)


def live_settings(config: Path | None = None, environ: Mapping[str, str] | None = None) -> LiveSettings:
    """The settings of this process; InvalidInput names the variable or key, its value and what is allowed."""
    env = os.environ if environ is None else environ
    if config is None and env.get(CONFIG):
        config = Path(env[CONFIG])
    values = _from_file(config) if config is not None else {}
    named = {variable(name): name for name in LiveSettings.model_fields}
    given = {named[key]: text for key, text in env.items() if key in named and text != ""}
    try:
        file_settings = LiveSettings.model_validate(values, strict=False)
    except ValidationError as error:
        raise _invalid(error, lambda name: f"{config}: {name}") from None
    try:
        changed = file_settings.model_dump() | given
        return LiveSettings.model_validate(changed, strict=False)
    except ValidationError as error:
        raise _invalid(error, variable) from None


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return f"LIGHTWAVE_{name.upper()}"


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise InvalidInput(f"settings file {path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"settings file {path}: no TOML: {error}") from None


def _invalid(error: ValidationError, name_of: Any) -> InvalidInput:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return InvalidInput(
            f"{name_of(name)}: no such setting; allowed: {', '.join(LiveSettings.model_fields)}"
        )
    about = LiveSettings.model_fields[name].description
    return InvalidInput(f"{name_of(name)}: {first['input']!r} is not allowed; {first['msg']} ({about})")
