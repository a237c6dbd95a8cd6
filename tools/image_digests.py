"""`make pin-images`: pin the images of Dockerfile and docker-compose.yml by the digests of their registry.

`python:3.11-slim` becomes `python:3.11-slim@sha256:…`. Docker's buildx gets the digest of an image, all its
platforms together, from the registry. Run it again after a change of a tag.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tools.locks import ROOT

FILES = ("Dockerfile", "docker-compose.yml")
IMAGE = re.compile(r"(?m)^(?P<before>FROM |\s+image: )(?P<name>[a-z0-9./_-]+:[\w.-]+)(@sha256:[0-9a-f]{64})?")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def image_names(text: str) -> list[str]:
    """The images with a tag that a file names, in order, without digests."""
    return [match["name"] for match in IMAGE.finditer(text)]


def pinned(text: str, digests: Mapping[str, str]) -> str:
    """The same file with these digests: image → `sha256:…`."""
    return IMAGE.sub(lambda match: f"{match['before']}{match['name']}@{digests[match['name']]}", text)


def registry_digest(image: str) -> str:
    """The digest of an image in its registry. ValueError with a sentence if it cannot be read."""
    command = ["docker", "buildx", "imagetools", "inspect", image, "--format", "{{.Manifest.Digest}}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- no shell
    except OSError as error:
        raise ValueError(f"docker: {error.strerror}; install Docker with buildx") from None
    digest = done.stdout.strip()
    if done.returncode or not DIGEST.fullmatch(digest):
        raise ValueError(f"{image}: its digest cannot be read: {done.stderr.strip() or digest}")
    return digest


def pin_files(folder: Path, digest_of: Callable[[str], str] = registry_digest) -> dict[str, str]:
    """Pin every image of a folder's files; returns image → digest. Changes nothing if one cannot be read."""
    texts = {name: (folder / name).read_text() for name in FILES}
    images = dict.fromkeys(image for text in texts.values() for image in image_names(text))
    digests = {image: digest_of(image) for image in images}
    for name, text in texts.items():
        (folder / name).write_text(pinned(text, digests))
    return digests


def main() -> int:
    """Pin the images of this repository; exit code 1 with a sentence if that fails."""
    try:
        for image, digest in pin_files(ROOT).items():
            sys.stdout.write(f"{image}@{digest}\n")
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
