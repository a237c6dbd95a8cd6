"""Where a twin is reached."""

import os
import re
from urllib.parse import urlsplit

from ops.common.quoted import quoted
from shared.basics.errors import InvalidInput

DEFAULT_URL = "http://127.0.0.1:8080"


def named_url() -> str | None:
    """The twin that the user names, or None."""
    return os.environ.get("LIGHTWAVE_URL") or None


def parts_of(url: str, named_by: str) -> tuple[str, int | None, str, bool]:
    """(host, port, path, whether TLS) of a URL; InvalidInput if it is none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    plain = (
        re.fullmatch(r"[!-~]+", url) and not parts.query and not parts.fragment and "@" not in parts.netloc
    )
    if parts.scheme not in ("http", "https") or not host or not plain:
        raise InvalidInput(
            f"{named_by} {quoted(url)}: not a twin's address; allowed are URLs like {DEFAULT_URL}"
        )
    return host, port, parts.path.rstrip("/"), parts.scheme == "https"
