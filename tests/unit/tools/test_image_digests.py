"""Images are pinned by the digests that their registry reports, and never by others."""

from pathlib import Path

import pytest

from tests.unit.tree.tidy import ROOT
from tools.image_digests import FILES, image_names, pin_files

NAMED = ["python:3.11-slim", "apache/kafka:4.3.1", "redis:7"]


def digest_of(image: str) -> str:
    return f"sha256:{NAMED.index(image):064x}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).write_text((ROOT / name).read_text())
    return tmp_path


def test_every_foreign_image_is_pinned_once(folder: Path) -> None:
    found = pin_files(folder, digest_of)
    assert found == {image: digest_of(image) for image in NAMED}
    for _ in range(2):
        text = "".join((folder / name).read_text() for name in FILES)
        assert all(text.count(f" {image}@{digest_of(image)}") == 1 for image in NAMED)
        assert text.count("@sha256:") == len(NAMED)
        assert [name for file in FILES for name in image_names((folder / file).read_text())] == NAMED
        assert "image: lightwave-twin\n" in text
        pin_files(folder, digest_of)


def test_nothing_changes_if_a_digest_cannot_be_read(folder: Path) -> None:
    def fails(image: str) -> str:
        if image.startswith("redis"):
            raise ValueError(f"{image}: its digest cannot be read: no network")
        return digest_of(image)

    before = {name: (folder / name).read_text() for name in FILES}
    with pytest.raises(ValueError, match=r"^redis:7: its digest cannot be read"):
        pin_files(folder, fails)
    assert {name: (folder / name).read_text() for name in FILES} == before
