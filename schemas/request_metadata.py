"""Metadata of every request: idempotency key, caller and comment."""

from typing import Annotated

from pydantic import Field

from schemas.body import Body, is_none
from schemas.limits import CALLER_NAME_MAX, COMMENT_MAX, IDEMPOTENCY_KEY_MAX


class RequestBody(Body):
    """Metadata of a request, which no service reads; only an injected fault keeps its comment. It is on the
    log, so that a repeated request is recognised even if every store is lost: within a twin, the same `key`
    is the same request. Unset fields are left out of the line."""

    key: Annotated[str, Field(min_length=1, max_length=IDEMPOTENCY_KEY_MAX)] | None = Field(
        default=None, exclude_if=is_none, description="idempotency key"
    )
    asked_by: Annotated[str, Field(min_length=1, max_length=CALLER_NAME_MAX)] | None = Field(
        default=None, exclude_if=is_none, description="name of the caller, which its token identifies"
    )
    comment: Annotated[str, Field(min_length=1, max_length=COMMENT_MAX)] | None = Field(
        default=None, exclude_if=is_none, description="reason for the request, in the caller's words"
    )


METADATA_FIELDS = frozenset(RequestBody.model_fields)
"""Fields that describe the caller and not the request itself."""


def idempotency_key(body: Body) -> str | None:
    """The idempotency key of a request; None for other messages."""
    return body.key if isinstance(body, RequestBody) else None
