"""The API's page for people: Swagger UI, served from this machine and under rules that let it load nothing
else."""

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse
from swagger_ui_bundle import swagger_ui_path

from shared.basics.errors import NotFound

RULES = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Swagger UI writes styles into its page, and its pictures into its styles."""
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Lightwave Twin</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="icon" href="docs/favicon-32x32.png">
<div id="page"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/begin.js"></script>
</html>
"""
BEGIN = """SwaggerUIBundle({url: "openapi.json", dom_id: "#page", deepLinking: true, validatorUrl: null});
"""
FILES = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "favicon-32x32.png": "image/png",
}
"""Files of Swagger UI that the page needs, and what they are."""
KEPT = {"Cache-Control": "max-age=3600"}


def routes() -> APIRouter:
    """The page and what it loads; none of it is part of the API."""
    router = APIRouter(prefix="/docs", include_in_schema=False)

    @router.get("")
    def page() -> Response:
        return Response(PAGE, media_type="text/html", headers={"Content-Security-Policy": RULES})

    @router.get("/begin.js")
    def begin() -> Response:
        return Response(BEGIN, media_type="text/javascript", headers=KEPT)

    @router.get("/{name}")
    def file(name: str) -> Response:
        if name not in FILES:
            raise NotFound(f"{name[:80]!r}: no file of this page")
        return FileResponse(f"{swagger_ui_path}/{name}", media_type=FILES[name], headers=KEPT)

    return router
