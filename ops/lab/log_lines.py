"""What is told of a line of the log without reading all of it: most lines of a run are nobody's here."""

TYPE_KEY = b'"type":"'
HEAD_BYTES = 200
"""Bytes of a line in which its type stands: ids are shorter than that."""


def message_type_of(line: bytes) -> bytes:
    """The type of a message, which `schemas.registry.encode` has written."""
    begins = line.find(TYPE_KEY, 0, HEAD_BYTES) + len(TYPE_KEY)
    return line[begins : line.find(b'"', begins)]
