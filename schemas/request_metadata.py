"""What every message says that somebody asks for: under which key, who asks, and why."""

from typing import Annotated

from pydantic import Field

from schemas.body import Body, is_none
from schemas.limits import CALLER_NAME_MAX, COMMENT_MAX, IDEMPOTENCY_KEY_MAX


class RequestBody(Body):
    """The identity of a request, which no service reads. It stands on the log, so that a request is known
    again whatever becomes of any store: the same `key` is the same request, in all of a twin. What nobody
    said is left out of the line."""

    key: Annotated[str, Field(min_length=1, max_length=IDEMPOTENCY_KEY_MAX)] | None = Field(
        default=None, exclude_if=is_none, description="idempotency key"
    )
    asked_by: Annotated[str, Field(min_length=1, max_length=CALLER_NAME_MAX)] | None = Field(
        default=None, exclude_if=is_none, description="the name that the asker's token stands for"
    )
    comment: Annotated[str, Field(min_length=1, max_length=COMMENT_MAX)] | None = Field(
        default=None, exclude_if=is_none, description="why, in the asker's words"
    )


METADATA_FIELDS = frozenset(RequestBody.model_fields)
"""Fields that say who asks, and not for what."""


def idempotency_key(body: Body) -> str | None:
    """The idempotency key under which a message was asked for."""
    return body.key if isinstance(body, RequestBody) else None
