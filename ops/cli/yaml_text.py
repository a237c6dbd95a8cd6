"""YAML as text: what JSON can say, in block style.

Six thousand link ends must be printed within half a second; PyYAML takes longer for that alone. Scalars are
plain words where no reader can take them for anything else, and JSON otherwise, which YAML contains.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

_PLAIN = re.compile(r"[A-Za-z][\w./@×-]*(?: [\w./@×()-]+)*", re.ASCII)
_RESERVED = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"}


def dump(content: Any) -> str:
    """The content as one YAML document, without the last newline."""
    return "\n".join(_lines(content, ""))


def _lines(content: Any, indent: str) -> Iterator[str]:
    if isinstance(content, dict) and content:
        for key, value in content.items():
            yield from _entry(f"{indent}{_scalar(str(key))}:", value, indent, "  ")
    elif isinstance(content, list | tuple) and content:
        for value in content:
            yield from _item(value, indent)
    else:
        yield indent + _scalar(content)


def _entry(head: str, value: Any, indent: str, deeper: str) -> Iterator[str]:
    if isinstance(value, dict | list | tuple) and value:
        yield head
        # The dashes of a list stand below its key, as people write it.
        yield from _lines(value, indent if isinstance(value, list | tuple) else indent + deeper)
    else:
        yield f"{head} {_scalar(value)}"


def _item(value: Any, indent: str) -> Iterator[str]:
    lines = _lines(value, indent + "  ")
    yield f"{indent}- {next(lines).lstrip(' ')}"
    yield from lines


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        # YAML 1.1 reads 1e+16 as a number only with a point before the e.
        text = json.dumps(value)
        return text if "e" not in text or "." in text else text.replace("e", ".0e")
    return json.dumps(value)


def _text(value: str) -> str:
    if _PLAIN.fullmatch(value) and value.lower() not in _RESERVED:
        return value
    # Escapes keep out what YAML forbids in its text; JSON's surrogate pairs are not YAML's.
    return _beyond_ascii(json.dumps(value, ensure_ascii=False))


def _beyond_ascii(text: str) -> str:
    def escaped(match: re.Match[str]) -> str:
        return f"\\U{ord(match[0]):08x}"

    return re.sub(r"[^\x20-\x7e\xa1-\ud7ff\ue000-\ufefe\uff00-\ufffd]", escaped, text)
