"""Kafka and Redis as an operator sets them up on an untrusted network: TLS, logins, and only the rights that
a twin needs."""

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import redis
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePattern,
    ResourceType,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from kafka.errors import KafkaError

from ops.servers.local_servers import LocalKafka, LocalRedis
from shared.basics.errors import OperationFailed
from shared.runtimes.live.kafka.brokers import Brokers, Mechanism
from shared.storage.files.tls_files import TlsFiles
from shared.storage.store.redis_store import RedisStore
from tests.support.authority import Authority
from tests.unit.tree.tidy import ROOT

TWIN, ADMIN = "twin", "admin"
PASSWORDS = {TWIN: "tw1n's: pass=word&x", ADMIN: "adm1n"}
MECHANISM: Mechanism = "SCRAM-SHA-512"
"""The twin's mechanism. The broker and its administrator use PLAIN, which works before the broker has a
store."""


RIGHTS = " ".join((ROOT / "ops/deploy/redis-rights").read_text().split())


def password_file(folder: Path, user: str) -> Path:
    path = folder / f"{user}.password"
    path.write_text(PASSWORDS[user] + "\n")
    path.chmod(0o600)
    return path


class SecureKafka(LocalKafka):
    """Accepts only TLS and logins, and denies everything that no rule allows."""

    def __init__(self, folder: Path, authority: Authority, port: int) -> None:
        super().__init__(folder, "127.0.0.1", port)
        self.authority = authority

    def as_user(self, user: str, mechanism: Mechanism) -> Brokers:
        tls = TlsFiles(self.authority.ca)
        return Brokers(self.bootstrap, "SASL_SSL", tls, mechanism, user, PASSWORDS[user])

    @property
    def brokers(self) -> Brokers:
        return self.as_user(TWIN, MECHANISM)

    @property
    def settings(self) -> dict[str, str]:
        return {
            "LIGHTWAVE_KAFKA": self.bootstrap,
            "LIGHTWAVE_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "LIGHTWAVE_KAFKA_CA_FILE": str(self.authority.ca),
            "LIGHTWAVE_KAFKA_SASL_MECHANISM": MECHANISM,
            "LIGHTWAVE_KAFKA_USER": TWIN,
            "LIGHTWAVE_KAFKA_PASSWORD_FILE": str(password_file(self.folder, TWIN)),
        }

    def answers(self) -> bool:
        try:
            self.administer(lambda admin: admin.describe_cluster())
        except (KafkaError, OSError):
            return False
        return True

    def administer(self, action: Callable[[Any], Any]) -> Any:
        admin = KafkaAdminClient(**self.as_user(ADMIN, "PLAIN").arguments(), bootstrap_timeout_ms=2_000)
        try:
            return action(admin)
        finally:
            admin.close()

    def allow(self, prefix: str) -> None:
        """Grant the rights of docs/how-to/secure.md to a twin with this prefix."""
        topics = ("CREATE", "DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE")
        rules = [(ResourceType.TOPIC, name) for name in topics] + [(ResourceType.GROUP, "READ")]
        acls = [
            ACL(
                f"User:{TWIN}",
                "*",
                ACLOperation[name],
                ACLPermissionType.ALLOW,
                ResourcePattern(kind, f"{prefix}.", ACLResourcePatternType.PREFIXED),
            )
            for kind, name in rules
        ]
        login = UserScramCredentialUpsertion(
            TWIN, ScramMechanism.SCRAM_SHA_512, PASSWORDS[TWIN].encode(), iterations=4096
        )
        self.administer(lambda admin: (admin.create_acls(acls), admin.alter_user_scram_credentials([login])))

    def _properties(self) -> str:
        logins = "listener.name.sasl_ssl"
        module = "org.apache.kafka.common.security"
        admin = f'username="{ADMIN}" password="{PASSWORDS[ADMIN]}" user_{ADMIN}="{PASSWORDS[ADMIN]}"'
        own = {
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL",
            "inter.broker.listener.name": "SASL_SSL",
            "sasl.enabled.mechanisms": f"PLAIN,{MECHANISM}",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            f"{logins}.plain.sasl.jaas.config": f"{module}.plain.PlainLoginModule required {admin};",
            f"{logins}.{MECHANISM.lower()}.sasl.jaas.config": f"{module}.scram.ScramLoginModule required;",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.authority.both),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority.ca),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            # Only the broker on the same host talks to the controller, where it has no user name.
            "super.users": f"User:{ADMIN};User:ANONYMOUS",
        }
        text = super()._properties().replace(f"PLAINTEXT://{self.address}", f"SASL_SSL://{self.address}")
        return text + "".join(f"{key}={value}\n" for key, value in own.items())


class SecureRedis(LocalRedis):
    """Accepts only TLS, and a user with the rights that a twin needs."""

    def __init__(self, folder: Path, authority: Authority, port: int) -> None:
        super().__init__(folder, "127.0.0.1", port)
        self.authority = authority

    @property
    def url(self) -> str:
        files = {"ssl_ca_certs": self.authority.ca, "password_file": password_file(self.folder, TWIN)}
        return f"rediss://{TWIN}@{self.address}/0?{urlencode(files)}"

    def answers(self) -> bool:
        try:
            with contextlib.closing(RedisStore(self.url)) as store:
                store.check()
        except OperationFailed:
            return False
        return True

    def _command(self) -> list[str]:
        digest = hashlib.sha256(PASSWORDS[TWIN].encode()).hexdigest()
        users = self.folder / "users.acl"
        users.write_text(f"user default off\nuser {TWIN} on #{digest} {RIGHTS}\n")
        own = {
            "port": "0",
            "tls-port": str(self.port),
            "tls-cert-file": str(self.authority.cert),
            "tls-key-file": str(self.authority.key),
            "tls-ca-cert-file": str(self.authority.ca),
            "tls-auth-clients": "no",
            "aclfile": str(users),
        }
        return [*super()._command(), *(word for name, value in own.items() for word in (f"--{name}", value))]

    def refused(self) -> dict[str, int]:
        """Return the number of refused operations by kind since the start of the server."""
        with redis.Redis(
            port=self.port,
            username=TWIN,
            password=PASSWORDS[TWIN],
            ssl=True,
            ssl_ca_certs=str(self.authority.ca),
        ) as client:
            stats: dict[str, int] = client.info("stats")
        return {
            name: count for name, count in stats.items() if name.startswith("acl_access_denied") and count
        }
