"""Every command that a script runs in Redis is among the documented rights: a missing one is noticed only by
twins whose Redis has rights."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[4]
CALLED = re.compile(r"redis\.p?call\('([A-Z]+)'")


def test_the_rights_contain_every_command_of_the_scripts() -> None:
    rights = {word.lstrip("+") for word in (ROOT / "ops/deploy/redis-rights").read_text().split()}
    sources = [path.read_text() for path in (ROOT / "shared").rglob("*.py")]
    called = {command.lower() for source in sources for command in CALLED.findall(source)}
    assert {"hget", "xadd", "type"} <= called
    assert called <= rights
