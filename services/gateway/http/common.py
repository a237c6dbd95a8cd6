"""What the routes of all modules have in common."""

from collections.abc import Sequence
from typing import Any, TypedDict

from fastapi.params import Depends


class Common(TypedDict, total=False):
    """Arguments of every router: what is asked before a route answers, and the errors that any may give."""

    dependencies: Sequence[Depends]
    responses: dict[int | str, dict[str, Any]]
