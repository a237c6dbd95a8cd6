"""Decompression of untrusted data with a size limit."""

import zstandard


def decompress_bounded(data: bytes, most: int) -> bytes:
    """Decompress one zstd frame. ZstdError if it is damaged or declares more than `most` bytes. The library
    checks its limit only for frames that do not declare their size."""
    size = zstandard.frame_content_size(data)
    if size > most:
        raise zstandard.ZstdError(f"decompresses to {size} bytes; must be at most {most}")
    return zstandard.ZstdDecompressor().decompress(data, max_output_size=most)
