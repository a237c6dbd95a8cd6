"""The locks have a hash for every package that constraints.txt pins, and installations use nothing else."""

import re

import pytest

from tests.unit.tree.test_tidy import pins, required
from tests.unit.tree.tidy import ROOT
from tools.locks import AUDIT, GROUPS, HEADER, LockedPackage, LockError, canonical, read_lock, split_groups

DIGESTS = ("a" * 64, "0" * 64)


def locks() -> dict[str, list[LockedPackage]]:
    """Group → its packages."""
    return {group: read_lock((ROOT / "locks" / f"{group}.txt").read_text()) for group in GROUPS}


def test_locks_and_constraints_agree() -> None:
    """After a change of constraints.txt or pyproject.toml: `make lock`."""
    found = locks()
    assert any(one.name == "pip-audit" for one in found.pop(AUDIT)), "it is installed alone"
    rows = [(canonical(one.name), one.version) for packages in found.values() for one in packages]
    assert len(rows) == len(dict(rows)), "a package is locked twice"
    assert dict(rows) == pins()
    assert {path.stem for path in (ROOT / "locks").iterdir()} == {*GROUPS}


def test_every_package_has_hashes() -> None:
    for packages in locks().values():
        for one in packages:
            assert one.hashes, one.name
            assert len({*one.hashes}) == len(one.hashes), one.name


@pytest.mark.parametrize(
    ("extra", "groups"),
    [("", ["run"]), ("live", ["run", "live"]), ("test", ["build", "run", "live", "test"])],
)
def test_the_locks_of_an_installation_have_all_that_it_requires(extra: str, groups: list[str]) -> None:
    """Otherwise pip and uv refuse: with hashes they install nothing that is not listed."""
    found = locks()
    listed = {canonical(one.name) for group in groups for one in found[group]}
    assert required("lightwave-twin") | required("lightwave-twin", extra) <= listed


def test_the_locks_are_as_the_tool_writes_them() -> None:
    for group, packages in locks().items():
        text = (ROOT / "locks" / f"{group}.txt").read_text()
        assert text == HEADER + "".join(one.text for one in packages)


def test_nothing_is_installed_without_hashes() -> None:
    """Except the project itself, without its requirements and without a build environment."""
    text = (ROOT / "Makefile").read_text()
    assert re.findall(r"^LOCKED = (.*)$", text, re.MULTILINE) == ["--require-hashes --only-binary :all:"]
    lines = [
        line.strip() for line in text.splitlines() if re.match(r"\s+(\$\(PIP\)|\$\(UV\)|install) ", line)
    ]
    allowed = ("$(LOCKED) ", '"$$@"', "--no-deps --no-build-isolation --editable .")
    assert len(lines) == 4
    assert "pip install --quiet --disable-pip-version-check $(LOCKED) -r locks/audit.txt" in text
    assert [line for line in lines if not any(part in line for part in allowed)] == []


# --- the tool -----------------------------------------------------------------------------------------------


def test_a_lock_is_read_as_it_was_written() -> None:
    packages = [
        LockedPackage("six", "1.17.0", None, DIGESTS),
        LockedPackage("async-timeout", "5.0.1", "python_full_version < '3.11.3'", DIGESTS[:1]),
    ]
    assert read_lock(HEADER + "".join(one.text for one in packages)) == packages


@pytest.mark.parametrize(
    "text",
    ["six", "six>=1", f"    --hash=sha256:{DIGESTS[0]}", "six==1 \\\n    --hash=md5:00", "--find-links /x"],
)
def test_anything_else_in_a_lock_is_refused(text: str) -> None:
    with pytest.raises(LockError, match=r"^line \d: .* is not allowed; must be a pin or a SHA-256$"):
        read_lock(text)


def test_each_group_has_what_those_before_it_lack() -> None:
    six, toolz = (LockedPackage(name, "1", None, DIGESTS) for name in ("six", "toolz"))
    colorama = LockedPackage("colorama", "1", "sys_platform == 'win32'", DIGESTS)
    again = LockedPackage("Six", "1", None, DIGESTS)
    resolved = [("run", [six, colorama]), ("live", [again, toolz])]
    assert [*split_groups(resolved)] == [("run", [six]), ("live", [toolz])]


def test_a_package_that_any_group_needs_everywhere_is_installed_everywhere() -> None:
    marked = LockedPackage("six", "1", "python_full_version < '3.11.3'", DIGESTS)
    plain = LockedPackage("six", "1", None, DIGESTS)
    assert [*split_groups([("run", [marked]), ("live", [plain])])] == [("run", [plain]), ("live", [])]
    assert [*split_groups([("run", [marked]), (AUDIT, [plain])])] == [("run", [marked]), (AUDIT, [plain])]
