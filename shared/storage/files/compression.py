"""Compressed bytes of whatever origin, unpacked within a bound."""

import zstandard


def decompress_bounded(data: bytes, most: int) -> bytes:
    """What one frame of zstd holds; ZstdError where it is none, or says that it holds more than so many
    bytes. The library takes a bound only for frames that do not say it."""
    size = zstandard.frame_content_size(data)
    if size > most:
        raise zstandard.ZstdError(f"{size} bytes are in it, and at most {most} are allowed")
    return zstandard.ZstdDecompressor().decompress(data, max_output_size=most)
