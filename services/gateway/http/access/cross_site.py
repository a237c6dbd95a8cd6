"""Cross-site checks: refuses requests from pages of other sites.

Without tokens, a gateway is protected only by its loopback address. Every page in a browser on this machine
can reach it: by a form that posts here (Origin, Sec-Fetch-Site), or through a name whose owner points it here
(Host).
"""

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from services.gateway.http.access.caller import READ_METHODS
from services.gateway.http.access.loopback import is_loopback
from shared.basics.spelling import truncated

OWN_SITES = frozenset({"none", "same-origin"})
"""Values of Sec-Fetch-Site for a typed URL and for pages of this gateway."""
CHEAP_PATHS = ("/docs", "/openapi.json", "/livez", "/readyz", "/healthz")
"""Beginnings of the paths that pages of other sites may load: they are answered from memory, or need no more
than a probe."""
DEFAULT_PORTS = {"http": 80, "https": 443}


def cross_site_refusal(scope: Scope, headers: Headers, *, tokens: bool) -> tuple[int, str] | None:
    """(status, sentence) that refuses a request of another site's page; None for other requests.

    With tokens, only Sec-Fetch-Site counts: no page has the token, and a gateway behind a proxy may have any
    name.
    """
    site = headers.get("sec-fetch-site")
    if site is not None and site not in OWN_SITES and scope["method"] not in READ_METHODS:
        return 403, f"Sec-Fetch-Site {truncated(repr(site))}: pages of other sites must not send writes"
    if tokens:
        return None
    host = headers.get("host")
    if host is None or not is_loopback(_parts(f"//{host}")[0] or ""):
        return 421, (
            f"Host {truncated(repr(host or ''))}: must be 127.0.0.1, ::1 or localhost, because the gateway "
            "has no tokens"
        )
    origin = headers.get("origin")
    if origin is not None and _parts(origin) != _parts(f"{scope['scheme']}://{host}"):
        return 403, f"Origin {truncated(repr(origin))}: must be this gateway"
    if site is not None and site not in OWN_SITES and not _is_harmless_read(scope, headers):
        path = truncated(scope["path"])
        return 403, f"Sec-Fetch-Site {truncated(repr(site))}: pages of other sites must not read {path}"
    return None


def _is_harmless_read(scope: Scope, headers: Headers) -> bool:
    """Whether a read of another site's page costs little, or is a link that a person followed. The page could
    not see the answer, but an image with this address would have it computed again and again."""
    if scope["path"].startswith(CHEAP_PATHS):
        return True
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def _parts(url: str) -> tuple[str | None, int | None]:
    """(host, port) of a URL; (None, None) if it is invalid."""
    try:
        parts = urlsplit(url)
        return parts.hostname, parts.port or DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return None, None
