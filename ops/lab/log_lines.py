"""Read the type of a log line without decoding it: most lines of a run have no reader here."""

TYPE_KEY = b'"type":"'
HEAD_BYTES = 200
"""Number of leading bytes that contain the type: ids are shorter than that."""


def message_type_of(line: bytes) -> bytes:
    """The type of a message that `schemas.registry.encode` wrote."""
    begins = line.find(TYPE_KEY, 0, HEAD_BYTES) + len(TYPE_KEY)
    return line[begins : line.find(b'"', begins)]
