"""Who may reach the gateway: everybody on this machine; on any other address, who brings the token."""

import hmac
import ipaddress

from shared.errors import InvalidInput


def check_bind(host: str, token: str | None) -> None:
    """InvalidInput unless the address is a loopback one, or a bearer token guards it."""
    if not token and not is_loopback(host):
        raise InvalidInput(
            f"--host {host}: not a loopback address; allowed without a token are 127.0.0.1, ::1 and "
            "localhost (give --token or LIGHTWAVE_TOKEN)"
        )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_allowed(authorization: str | None, token: str | None) -> bool:
    """Whether a request with this Authorization header may pass."""
    if not token:
        return True
    return hmac.compare_digest((authorization or "").encode(), f"Bearer {token}".encode())
