"""`make lock`: write the hashes of every pinned package into the files of `locks/`.

uv resolves pyproject.toml under constraints.txt for every supported Python and platform. It lists the SHA-256
of each file that the package index offers for a pin: all wheels and the source distribution. Addresses of the
index are not written.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "locks"
CONSTRAINTS = ROOT / "constraints.txt"
PYTHON_MIN = "3.11"
BUILD, INSTALLER, AUDIT = "build", "uv", "audit"
GROUPS: Mapping[str, tuple[str, ...]] = {
    BUILD: (),
    INSTALLER: (),
    "run": (),
    "live": ("live",),
    "test": ("live", "test"),
    AUDIT: (),
}
"""File in `locks/` → the extras of pyproject.toml whose packages it completes. Each file has only what those
before it lack, except that of `AUDIT`, which is installed alone."""
ONE_PACKAGE = {BUILD: "setuptools", INSTALLER: "uv", AUDIT: "pip-audit==2.10.1"}
"""Locks of one package that pyproject.toml does not require: it builds, installs or audits the project."""
HEADER = "# Made by `make lock` from constraints.txt and pyproject.toml. Do not edit.\n"
NOT_SUPPORTED = re.compile(r"^sys_platform == 'win32'$")
"""Markers of packages that no supported platform needs."""
PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)( ; (?P<marker>[^\\]+?))?( \\)?")
HASH = re.compile(r"    --hash=sha256:(?P<digest>[0-9a-f]{64})( \\)?")


class LockError(Exception):
    """The lock cannot be written or read; `str()` is one sentence."""


@dataclass(frozen=True, slots=True)
class LockedPackage:
    """A package at one version, with the SHA-256 (64 hexadecimal digits) of each of its files. It is needed
    only if `marker` is true; None: everywhere."""

    name: str
    version: str
    marker: str | None
    hashes: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return its lines in a lock."""
        pin = f"{self.name}=={self.version}" + ("" if self.marker is None else f" ; {self.marker}")
        return " \\\n".join([pin, *(f"    --hash=sha256:{digest}" for digest in self.hashes)]) + "\n"


def read_lock(text: str) -> list[LockedPackage]:
    """Return the packages of a lock, in order. Raises LockError that names a line that is neither a pin nor a
    hash."""
    found: list[tuple[re.Match[str], list[str]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        if pin := PIN.fullmatch(line):
            found.append((pin, []))
        elif found and (digest := HASH.fullmatch(line)):
            found[-1][1].append(digest["digest"])
        else:
            raise LockError(f"line {number}: {line!r} is not allowed; must be a pin or a SHA-256")
    return [LockedPackage(pin["name"], pin["version"], pin["marker"], tuple(all_)) for pin, all_ in found]


def canonical(name: str) -> str:
    """Return a package's name in the form that package indexes compare."""
    return re.sub(r"[-_.]+", "-", name).lower()


def split_groups(
    resolved: Iterable[tuple[str, Sequence[LockedPackage]]],
) -> Iterator[tuple[str, list[LockedPackage]]]:
    """Yield (group, its packages) without those of earlier groups, and without those of unsupported
    platforms.

    A package that one group needs everywhere has no marker in any group: pip requires the hash of every
    package, wherever it is listed.
    """
    groups = list(resolved)
    everywhere = {
        canonical(package.name)
        for group, packages in groups
        for package in packages
        if group != AUDIT and package.marker is None
    }
    known: set[str] = set()
    for group, packages in groups:
        own = [
            replace(package, marker=None) if canonical(package.name) in everywhere else package
            for package in packages
            if (group == AUDIT or canonical(package.name) not in known)
            and not (package.marker and NOT_SUPPORTED.match(package.marker))
        ]
        known |= {canonical(package.name) for package in own}
        yield group, own


def resolve(group: str) -> list[LockedPackage]:
    """Return every package of a group and of those before it, with hashes. Raises LockError if uv fails."""
    source, given = ("-", ONE_PACKAGE[group]) if group in ONE_PACKAGE else (str(ROOT / "pyproject.toml"), "")
    extras = [word for extra in GROUPS[group] for word in ("--extra", extra)]
    command = [
        *(str(Path(sys.executable).with_name("uv")), "pip", "compile", source, *extras),
        *(() if group == AUDIT else ("--constraint", str(CONSTRAINTS))),
        *("--universal", "--python-version", PYTHON_MIN),
        *("--generate-hashes", "--no-header", "--no-annotate", "--quiet"),
    ]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)  # noqa: S603 -- no shell
    if done.returncode:
        raise LockError(f"uv could not resolve {group}: {done.stderr.strip()}")
    return read_lock(done.stdout)


def main() -> int:
    """Write all locks. Return 1 after printing a sentence if that fails."""
    LOCKS.mkdir(exist_ok=True)
    try:
        for group, packages in split_groups((group, resolve(group)) for group in GROUPS):
            text = HEADER + "".join(package.text for package in packages)
            (LOCKS / f"{group}.txt").write_text(text)
            sys.stdout.write(f"locks/{group}.txt: {len(packages)} packages\n")
    except LockError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
