"""Reads the plan of a drill: from its document, or from the JSON of a plan."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from ops.drills.document import read_drill
from ops.drills.variables import parse_variables
from ops.sites.yaml_reader import read_text_file
from schemas.drill_plan import DrillPlan
from shared.basics.errors import InvalidInput

PLAN_FIELD = '"document_sha256"'
"""A field that every plan has, and no document."""


def read_plan(file: Path, variables: Sequence[str]) -> DrillPlan:
    """The plan in a file. Raises InvalidInput with the first field that is not valid, and for variables of a
    plan, which has none."""
    try:
        content = read_text_file(file)
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from None
    if not (content.lstrip().startswith("{") and PLAN_FIELD in content):
        return read_drill(file, parse_variables(variables)).plan
    if variables:
        raise InvalidInput(
            f"--var {variables[0]}: cannot be combined with a plan; only documents have variables"
        )
    try:
        return DrillPlan.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InvalidInput(f"{file}: {place}: {first['msg']}") from None
