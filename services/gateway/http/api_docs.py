"""The API's web page: Swagger UI, served from this host, with a policy that lets it load nothing else."""

import gzip
import json
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files as package_files

from fastapi import FastAPI, Request, Response

from shared.basics.errors import NotFound
from shared.basics.spelling import truncated

PAGE_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Swagger UI writes styles into its page and images into its styles."""
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Lightwave Twin</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="icon" href="docs/favicon.png">
<div id="page"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/begin.js"></script>
</html>
"""
START_SCRIPT = (
    'SwaggerUIBundle({url: "openapi.json", dom_id: "#page", deepLinking: true, validatorUrl: null});\n'
)
FILES = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "favicon.png": "image/png",
}
"""Files of Swagger UI 5 that the page needs, with their media types. They come with the package
`fastapi-offline`. Swagger UI 4 cannot read OpenAPI 3.1."""
FILES_PACKAGE = "fastapi_offline"
CACHE_HEADERS = {"Cache-Control": "max-age=3600"}


@dataclass(frozen=True)
class CachedAnswer:
    """A response that is computed once, also compressed. Anyone may request it without a token, so it should
    cost neither time nor a file descriptor."""

    plain: bytes
    media_type: str

    @cached_property
    def compressed(self) -> bytes:
        """The compressed content, computed on first use."""
        return gzip.compress(self.plain, mtime=0)

    def response(self, request: Request, headers: dict[str, str]) -> Response:
        """The response in the encoding that the client accepts."""
        headers = {"Vary": "Accept-Encoding"} | headers
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(self.plain, headers=headers, media_type=self.media_type)
        return Response(
            self.compressed, headers={"Content-Encoding": "gzip"} | headers, media_type=self.media_type
        )


@cache
def swagger_files() -> dict[str, CachedAnswer]:
    """The files of Swagger UI by name, read once."""
    return {
        name: CachedAnswer((package_files(FILES_PACKAGE) / "static" / name).read_bytes(), kind)
        for name, kind in FILES.items()
    }


def install(app: FastAPI) -> None:
    """Serve the page, the files that it loads, and the API's description. None of them is part of the API."""
    files = swagger_files()

    @cache
    def description(described: FastAPI) -> CachedAnswer:
        text = json.dumps(described.openapi(), ensure_ascii=False, separators=(",", ":"))
        return CachedAnswer(text.encode(), "application/json")

    # FastAPI never forgets an endpoint. If it referred to the app, it would keep the app alive.
    @app.get("/openapi.json", include_in_schema=False)
    def openapi(request: Request) -> Response:
        return description(request.app).response(request, {})

    @app.get("/", include_in_schema=False)
    def root() -> Response:
        return Response(status_code=307, headers={"Location": "/docs"})  # without a host: the same one

    @app.get("/docs", include_in_schema=False)
    def page() -> Response:
        return Response(PAGE, media_type="text/html", headers={"Content-Security-Policy": PAGE_CSP})

    @app.get("/docs/begin.js", include_in_schema=False)
    def begin() -> Response:
        return Response(START_SCRIPT, media_type="text/javascript", headers=CACHE_HEADERS)

    @app.get("/docs/{name}", include_in_schema=False)
    def file(request: Request, name: str) -> Response:
        if name not in files:
            raise NotFound(f"{truncated(repr(name))}: no such file")
        return files[name].response(request, CACHE_HEADERS)
