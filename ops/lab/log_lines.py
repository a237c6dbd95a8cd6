"""What is told of a line of the log without reading all of it: most lines of a run are nobody's here."""

TYPE = b'"type":"'
HEAD = 200
"""Bytes of a line in which its type stands: ids are shorter than that."""


def type_in(line: bytes) -> bytes:
    """The type of a message, which `schemas.registry.encode` has written."""
    begins = line.find(TYPE, 0, HEAD) + len(TYPE)
    return line[begins : line.find(b'"', begins)]
