"""Without tokens, the gateway may only listen on a loopback address."""

import ipaddress

from shared.basics.errors import InvalidInput


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_bind(host: str, *, tokens: bool) -> None:
    """Raise InvalidInput unless the address is a loopback address, or tokens protect it."""
    if not tokens and not is_loopback(host):
        raise InvalidInput(
            f"--host {host}: must be 127.0.0.1, ::1 or localhost without a token "
            "(set --tokens, LIGHTWAVE_TOKEN or LIGHTWAVE_TOKEN_FILE)"
        )
