"""The page `/docs` in a real browser: it renders the API description and shows its operations."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.living import LivingTwin, living

BROWSER = shutil.which("chromium") or "chromium"


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingTwin]:
    yield from living(tmp_path_factory.mktemp("state") / "lightwave", "--speed", "60", "--seed", "7")


def rendered(url: str, profile: Path) -> str:
    """Return the document after its scripts ran for ten seconds of the browser's own time."""
    command = [
        *(BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *(f"--user-data-dir={profile}", "--virtual-time-budget=10000", "--dump-dom", url),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def test_the_page_shows_operations(twin: LivingTwin, tmp_path: Path) -> None:
    page = rendered(f"{twin.url}/docs", tmp_path)
    assert "Unable to render this definition" not in page
    operations = re.findall(r'class="opblock opblock-(get|post|put|delete)"', page)
    described = sum(len(methods) for methods in twin.get("/openapi.json")["paths"].values())
    assert len(operations) == described
    assert 'data-path="/v1/slices"' in page
