"""Completion in bash, which splits words at =, : and @ before it calls the completion.

The script hands over the line up to the cursor, which is split here as the command line is. Bash replaces
only what is after the last of these characters, so the proposals begin there.
"""

import os
from typing import Any

from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

BREAKS = "=:@"
"""Characters at which bash splits words, if COMP_WORDBREAKS is not set."""

SOURCE = """\
%(complete_func)s() {
    local IFS=$'\\n'
    local response

    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD COMP_BREAKS="$COMP_WORDBREAKS" \\
        COMP_BEFORE="${COMP_LINE:0:${COMP_POINT:-0}}" %(complete_var)s=bash_complete $1)

    for completion in $response; do
        IFS=',' read type value <<< "$completion"

        if [[ $type == 'dir' ]]; then
            COMPREPLY=()
            compopt -o dirnames 2> /dev/null
        elif [[ $type == 'file' ]]; then
            COMPREPLY=()
            compopt -o default 2> /dev/null
        elif [[ $type == 'plain' ]]; then
            COMPREPLY+=($value)
            if [[ $value == *[=:/] ]]; then
                compopt -o nospace 2> /dev/null
            fi
        fi
    done

    return 0
}

%(complete_func)s_setup() {
    complete -o nosort -F %(complete_func)s %(prog_name)s
}

%(complete_func)s_setup;
"""


class BashCompletion(BashComplete):
    """Completes bash's words like click's class, but reads whole words."""

    name = "bash"
    source_template = SOURCE

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._incomplete = ""
        self._replaced_from = 0

    def get_completion_args(self) -> tuple[list[str], str]:
        before = os.environ.get("COMP_BEFORE", "")
        words, incomplete = words_of_line(before) if before else words_of_parts(_parts())
        is_quoted = before.rpartition(incomplete)[0][-1:] in ("'", '"') if incomplete else False
        breaks = os.environ.get("COMP_BREAKS") or BREAKS
        if not is_quoted:
            self._replaced_from = max(incomplete.rfind(mark) for mark in breaks) + 1
        self._incomplete = incomplete
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """Return the part of the proposal that bash inserts: from the character at which it replaces the
        word."""
        head, value = self._incomplete[: self._replaced_from], str(item.value)
        return f"{item.type},{value.removeprefix(head) if head else value}"


def words_of_line(before: str) -> tuple[list[str], str]:
    """(whole words, the word at the cursor) of the line up to the cursor."""
    words = split_arg_string(before)
    return (words, "") if not before or before[-1].isspace() or not words else (words[:-1], words[-1])


def words_of_parts(parts: list[str]) -> tuple[list[str], str]:
    """Do the same for the parts into which bash has split the line. Parts are joined at =, : and @."""
    words: list[str] = []
    is_joined = False
    for part in parts:
        if words and (is_joined or part[:1] in tuple(BREAKS)):
            words[-1] += part
        else:
            words.append(part)
        is_joined = part[-1:] in tuple(BREAKS)
    return words[:-1], words[-1] if words else ""


def _parts() -> list[str]:
    """Return bash's words up to the cursor."""
    parts = os.environ.get("COMP_WORDS", "").split("\n")
    return parts[: int(os.environ.get("COMP_CWORD", len(parts))) + 1]


def install() -> None:
    """Register this class for bash."""
    add_completion_class(BashCompletion)
