"""Writes the JSON Schema of every external format."""

import json
from pathlib import Path

from pydantic import BaseModel

from ops.local.output_file import write_output_text
from schemas.config.fabric_configs import CONFIGS
from schemas.documents.dcn import NETWORK_DOCUMENTS
from schemas.documents.drills import DRILL_DOCUMENTS
from schemas.documents.pods import POD_DOCUMENTS
from schemas.envelope import Envelope
from schemas.files.operations_log import OPERATIONS, Operation
from schemas.registry import TYPES
from shared.basics.errors import OperationFailed
from shared.basics.json_types import JsonObject


def schemas() -> dict[str, JsonObject]:
    """File name → content: every message type, envelope, operation, configuration, status documents, and an
    index of message types."""
    models: dict[str, type[BaseModel]] = {"Envelope": Envelope, "Operation": Operation}
    models |= {model.__name__: model for model in CONFIGS.values()}
    models |= TYPES
    models |= OPERATIONS
    models |= {
        model.__name__: model
        for table in (POD_DOCUMENTS, NETWORK_DOCUMENTS, DRILL_DOCUMENTS)
        for group in table.values()
        for model in group
    }
    found = {f"{name}.json": model.model_json_schema() for name, model in sorted(models.items())}
    index: JsonObject = {
        name: {"writer": body.writer, "version": body.version, "file": f"{name}.json"}
        for name, body in TYPES.items()
    }
    return found | {"index.json": index}


def export(directory: Path) -> int:
    """Write them to a folder, created if it is missing. Return their number. Raises OperationFailed if a file
    cannot be written."""
    found = schemas()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in found.items():
            text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False)
            write_output_text(directory / name, text + "\n")
    except OSError as error:
        raise OperationFailed(f"folder {directory}: {error.strerror or error}") from None
    return len(found) - 1
