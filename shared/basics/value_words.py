"""Yes or no, whole numbers and numbers as people write them: the same in options, URLs, YAML, CSV, `--set`
and conditions. Every command imports this module, so it imports nothing slow."""

import math
import re

from schemas.limits import COUNT_MAX

FLAG_WORDS = {
    **dict.fromkeys(("true", "yes", "on", "1", "t", "y"), True),
    **dict.fromkeys(("false", "no", "off", "0", "f", "n"), False),
}
"""Words for yes and no, in any case."""
NUMBER_CHARS_MAX = 400
"""Maximum number of characters of a number: Python takes long to parse much longer ones."""
_NUMBER = re.compile(r"[-+]?(?:(?P<whole>[0-9]+)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?")
_ZERO_IN_FRONT = re.compile(r"[-+]?0[0-9_]")
_NOT_FINITE = re.compile(r"[-+]?\.?(?:inf|infinity|nan)", re.IGNORECASE)
_DIGITS = re.compile(r"[-+]?[0-9]+")


def read_flag(text: str) -> bool | None:
    """`yes`, `true`, `on` and `1`, or `no`, `false`, `off` and `0`; None for another text."""
    return FLAG_WORDS.get(text.lower())


def read_number(text: str) -> float | None:
    """Parse a finite number such as `0.5`, `-3` or `1e-5`. Return None for other texts, and for a number with
    a leading zero, which some readers parse as octal."""
    if len(text) > NUMBER_CHARS_MAX or _NUMBER.fullmatch(text) is None or _ZERO_IN_FRONT.match(text):
        return None
    found = float(text)
    return found if math.isfinite(found) else None


def read_whole(text: str) -> int | None:
    """A whole number of 64 bits such as `64`, `-3`, `64.0` or `1e3`; None for another text, as for
    `read_number`."""
    found = read_number(text)
    if found is None or not found.is_integer():
        return None
    whole = int(text) if _DIGITS.fullmatch(text) else int(found)
    return whole if -COUNT_MAX <= whole <= COUNT_MAX else None


def has_zero_in_front(text: str) -> bool:
    """Whether a text is a number with a leading zero: `010`, `-007`, `0o10`, `00.5`."""
    return re.fullmatch(r"[-+]?0(?:o[0-9]+|[0-9][0-9_]*(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)", text) is not None


def number_problem(text: str, *, whole: bool) -> str:
    """Return the allowed forms for a text that is not a number."""
    noun = "a whole number" if whole else "a number"
    if has_zero_in_front(text):
        return f"must be {noun} without a zero in front"
    if _NOT_FINITE.fullmatch(text):
        return f"must be {noun if whole else 'a finite number'}"
    if _NUMBER.fullmatch(text) is None:
        return f"must be {noun}"
    if read_number(text) is None:
        return f"must be {'a whole number with fewer digits' if whole else 'a finite number'}"
    return f"must be {noun}{f' of 64 bits, up to {COUNT_MAX:,}' if _DIGITS.fullmatch(text) else ''}"
