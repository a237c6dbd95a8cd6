"""The fabric that a question is about if it names none. The command line imports it: nothing slow."""

from collections.abc import Mapping

from schemas.fabric_names import default_fabric_name
from shared.basics.errors import InvalidInput
from shared.basics.time_format import format_time


def default_fabric_of(kinds: Mapping[str, str], retired_us: Mapping[str, int]) -> str:
    """The first of all fabrics that a question can be about (`default_fabric_name`). If it has retired, the
    only one that lives.

    `kinds`: fabric → kind, in order, with retired ones. `retired_us`: retired fabric → simulated time, in
    microseconds. Raise InvalidInput if the first one has retired and not exactly one other lives: no fabric
    can be meant then. The only fabric of all is always meant.
    """
    first = default_fabric_name(kinds)
    if first not in retired_us or len(kinds) == 1:
        return first
    living = [name for name in kinds if name not in retired_us]
    if len(living) == 1:
        return living[0]
    others = f"{', '.join(living[:-1])} and {living[-1]} live" if living else "none of the others lives"
    raise InvalidInput(
        f"fabric: must be given, because {first}, the default, retired at {format_time(retired_us[first])}; "
        f"{others}"
    )
