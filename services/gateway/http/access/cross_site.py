"""What a browser tells of the page behind a request, and what is refused for it.

Without a token a gateway is guarded by its address alone, and every page that a browser on this machine shows
can reach it: by a form that posts here (Origin, Sec-Fetch-Site), or under a name that its owner lets point
here (Host).
"""

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from services.gateway.http.access.caller import READ_METHODS
from services.gateway.http.access.loopback import is_loopback
from shared.basics.spelling import truncated

OWN_SITES = frozenset({"none", "same-origin"})
"""What a browser says of a request that somebody typed, or that a page of this gateway makes."""
DEFAULT_PORTS = {"http": 80, "https": 443}


def cross_site_refusal(scope: Scope, headers: Headers, *, tokens: bool) -> tuple[int, str] | None:
    """(status, sentence) for a request that a foreign page makes, None for any other.

    With tokens only the browser's own word counts: no page has the token, and a gateway behind a proxy has
    whatever names its owner gives it.
    """
    site = headers.get("sec-fetch-site")
    if site is not None and site not in OWN_SITES and scope["method"] not in READ_METHODS:
        return 403, f"Sec-Fetch-Site {truncated(repr(site))}: a foreign page may change nothing here"
    if tokens:
        return None
    host = headers.get("host")
    if host is None or not is_loopback(_parts(f"//{host}")[0] or ""):
        return 421, (
            f"Host {truncated(repr(host or ''))}: without tokens only this machine's own names are served: "
            "127.0.0.1, ::1 and localhost"
        )
    origin = headers.get("origin")
    if origin is not None and _parts(origin) != _parts(f"{scope['scheme']}://{host}"):
        return 403, f"Origin {truncated(repr(origin))}: a foreign page is not answered"
    return None


def _parts(url: str) -> tuple[str | None, int | None]:
    """(host, port) of a URL; (None, None) if it is none."""
    try:
        parts = urlsplit(url)
        return parts.hostname, parts.port or DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return None, None
