"""The exported schemas, byte for byte. Changes of external formats must be deliberate.

`make golden` writes them again.
"""

import os
from pathlib import Path

from ops.cli.run.schema_export import export, schemas
from schemas.registry import TYPES

KEPT = Path(__file__).parent / "schemas"


def test_no_schema_changed_silently(tmp_path: Path) -> None:
    if os.environ.get("GOLDEN") == "write":
        for old in KEPT.glob("*.json"):
            old.unlink()
        export(KEPT)
    export(tmp_path)
    made = {path.name: path.read_text() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_text() for path in KEPT.iterdir()}
    assert sorted(made) == sorted(kept)
    for name, text in made.items():
        assert text == kept[name], (
            f"{name} changed; if that is intended, raise its version and run `make golden`"
        )


def test_every_message_type_is_exported_with_its_writer() -> None:
    index = schemas()["index.json"]
    assert set(index) == set(TYPES)
    writers = {name: row["writer"] for name, row in index.items() if isinstance(row, dict)}
    assert writers == {name: body.writer for name, body in TYPES.items()}
