"""How Kafka is reached: where, over TLS or in the clear, and as whom. Every client is made from this."""

from dataclasses import dataclass, field
from typing import Any, Literal

from shared.storage.files.tls_files import NO_FILES, TlsFiles

Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
"""As Kafka's `security.protocol` has them."""
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
PLAINTEXT: Protocol = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class Brokers:
    """`bootstrap` is HOST:PORT, comma separated. `str()` says no more than that, for people."""

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
        """Each HOST:PORT by itself."""
        return [address.strip() for address in self.bootstrap.split(",")]

    @property
    def is_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def is_sasl(self) -> bool:
        return self.protocol.startswith("SASL_")

    def arguments(self) -> dict[str, Any]:
        """What a client of kafka-python or of aiokafka is made with."""
        found: dict[str, Any] = {"bootstrap_servers": self.addresses, "security_protocol": self.protocol}
        if self.is_tls:
            found["ssl_context"] = self.tls.context()
        if self.is_sasl:
            found |= {
                "sasl_mechanism": self.mechanism,
                "sasl_plain_username": self.user,
                "sasl_plain_password": self.password,
            }
        return found
