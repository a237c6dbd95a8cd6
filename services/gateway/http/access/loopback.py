"""Where the gateway may be reached without a token: from this machine alone."""

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
    """InvalidInput unless the address is a loopback one, or bearer tokens guard it."""
    if not tokens and not is_loopback(host):
        raise InvalidInput(
            f"--host {host}: not a loopback address; allowed without a token are 127.0.0.1, ::1 and "
            "localhost (give --tokens, LIGHTWAVE_TOKEN or LIGHTWAVE_TOKEN_FILE)"
        )
