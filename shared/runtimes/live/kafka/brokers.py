"""Connection settings for Kafka: addresses, TLS and login. Every client uses them."""

from dataclasses import dataclass, field
from typing import Any, Literal

from shared.storage.files.tls_files import NO_FILES, TlsFiles

Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
"""Values of Kafka's `security.protocol`."""
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
PLAINTEXT: Protocol = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class Brokers:
    """`bootstrap` is HOST:PORT, comma-separated. `str()` shows only that."""

    bootstrap: str
    protocol: Protocol = PLAINTEXT
    tls: TlsFiles = NO_FILES
    mechanism: Mechanism | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return self.bootstrap

    @property
    def addresses(self) -> list[str]:
        """HOST:PORT of each broker."""
        return [address.strip() for address in self.bootstrap.split(",")]

    @property
    def is_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def is_sasl(self) -> bool:
        return self.protocol.startswith("SASL_")

    def arguments(self) -> dict[str, Any]:
        """Constructor arguments for clients of kafka-python and aiokafka."""
        arguments: dict[str, Any] = {"bootstrap_servers": self.addresses, "security_protocol": self.protocol}
        if self.is_tls:
            arguments["ssl_context"] = self.tls.context()
        if self.is_sasl:
            arguments |= {
                "sasl_mechanism": self.mechanism,
                "sasl_plain_username": self.user,
                "sasl_plain_password": self.password,
            }
        return arguments
