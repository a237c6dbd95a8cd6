"""Message writers: each message type has one writer, the only service that may append it to a log.

The class of the body names it: `Body.writer`, set by the base class in each module of `schemas/messages`, or
by the body itself. Services check it when they emit a message, readers when they decode one.
"""

from schemas.body import Body


def writer_of(source: str) -> str:
    """The writing service of a source: `scheduler@pod-0` → scheduler, `operator@pod-0` → operator,
    `tick.ocs@pod-0` and `skip.ocs@pod-0` → sequencer."""
    name = source.split("@", 1)[0].split("/", 1)[0]
    return "sequencer" if name.startswith(("tick.", "skip.")) else name


def may_write(writer: str, body: type[Body]) -> bool:
    """Whether this writer may append messages of this type."""
    return writer == body.writer
