"""What every message says that somebody asks for: under which key, who asks, and why."""

from typing import Annotated

from pydantic import Field

from schemas.body import Body, is_unsaid
from schemas.bounds import ASKER_MAX, COMMENT_MAX, KEY_MAX


class AskedBody(Body):
    """The identity of a request, which no service reads. It stands on the log, so that a request is known
    again whatever becomes of any store: the same `key` is the same request, in all of a twin. What nobody
    said is left out of the line."""

    key: Annotated[str, Field(min_length=1, max_length=KEY_MAX)] | None = Field(
        default=None, exclude_if=is_unsaid, description="idempotency key"
    )
    asked_by: Annotated[str, Field(min_length=1, max_length=ASKER_MAX)] | None = Field(
        default=None, exclude_if=is_unsaid, description="the name that the asker's token stands for"
    )
    comment: Annotated[str, Field(min_length=1, max_length=COMMENT_MAX)] | None = Field(
        default=None, exclude_if=is_unsaid, description="why, in the asker's words"
    )


IDENTITY = frozenset(AskedBody.model_fields)
"""Fields that say who asks, and not for what."""


def key_of(body: Body) -> str | None:
    """The idempotency key under which a message was asked for."""
    return body.key if isinstance(body, AskedBody) else None
