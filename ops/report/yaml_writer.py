"""Writes JSON values as YAML in block style.

Six thousand link ends must be printed within half a second, and PyYAML alone takes longer. Scalars are plain
words if every reader parses them as text; otherwise they are JSON, which is a subset of YAML.
"""

import json
import re
from functools import lru_cache
from typing import Any

from ops.report.safe_text import escape_control

_PLAIN = re.compile(r"[A-Za-z][\w./@-]*(?: [\w./@()-]+)*", re.ASCII)
_RESERVED = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"}
_UNPRINTABLE = re.compile("[^\x20-\x7e\xa1-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]")
"""Characters that YAML text must not contain, or that would end a line there."""


def yaml_text(content: Any) -> str:
    """Return the content as one YAML document, without the last newline."""
    lines: list[str] = []
    _write(lines, content, "", "")
    return "\n".join(lines)


def _write(lines: list[str], content: Any, first: str, indent: str) -> None:
    """Append the content's lines: the first after `first`, the others after `indent`."""
    if isinstance(content, dict) and content:
        for key, value in content.items():
            if not isinstance(value, dict | list) or not value:
                lines.append(f"{first}{_text(key)}: {_scalar(value)}")
            else:
                lines.append(f"{first}{_text(key)}:")
                # The dashes of a list are below its key, as people write it.
                deeper = indent if isinstance(value, list) else indent + "  "
                _write(lines, value, deeper, deeper)
            first = indent
    elif isinstance(content, list) and content:
        for value in content:
            _write(lines, value, f"{first}- ", indent + "  ")
            first = indent
    else:
        lines.append(first + _scalar(content))


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    text = json.dumps(value)
    # YAML 1.1 reads 1e+16 as a word: its numbers have a point before the e.
    return text.replace("e", ".0e") if isinstance(value, float) and "e" in text and "." not in text else text


@lru_cache(maxsize=4096)
def _text(value: str) -> str:
    if _PLAIN.fullmatch(value) and value.lower() not in _RESERVED:
        return value
    text = _UNPRINTABLE.sub(lambda match: _escape(match[0]), json.dumps(value, ensure_ascii=False))
    return escape_control(text, _escape)


def _escape(character: str) -> str:
    return f"\\U{ord(character):08x}"
