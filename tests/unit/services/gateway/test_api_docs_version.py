"""The API page has a Swagger UI without the known holes of older ones."""

import re

from services.gateway.http.api_docs import swagger_files

SWAGGER_MIN = (5, 30, 0)
PURIFIER_MIN = (3, 2, 4)
"""Earlier versions of DOMPurify let scripts through."""


def versions(text: str, pattern: str) -> list[tuple[int, ...]]:
    """Every version that a pattern finds, oldest first."""
    return sorted(tuple(map(int, found.split("."))) for found in re.findall(pattern, text))


def test_the_page_uses_a_current_swagger_ui() -> None:
    text = swagger_files()["swagger-ui-bundle.js"].plain.decode()
    assert max(versions(text, r'"(5\.\d+\.\d+)"')) >= SWAGGER_MIN
    (purifier,) = versions(text, r'DOMPurify\.version="(\d+\.\d+\.\d+)"')
    assert purifier >= PURIFIER_MIN
