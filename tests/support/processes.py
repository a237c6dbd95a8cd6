"""Reads the CPU time of a process tree and its remaining processes from /proc."""

import contextlib
import os
import signal
from pathlib import Path

PROC = Path("/proc")
TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
IDLE = (3, 4)
"""Fields of the line `cpu` in /proc/stat that count no work: idle and iowait."""
GUEST = 8
"""From this field on, the line repeats times that other fields include."""
PARENT, TIMES = 1, slice(11, 15)
"""Fields of /proc/PID/stat after the name: the parent, and the CPU times of the process and its ended
children."""


def busy_s() -> float:
    """Return the CPU time that all processors of this machine have worked, in s."""
    fields = [int(word) for word in (PROC / "stat").read_text().splitlines()[0].split()[1:]]
    return TICK_S * sum(value for place, value in enumerate(fields[:GUEST]) if place not in IDLE)


def tree_s(root: int | None = None) -> float:
    """Return the CPU time of a process (default: this one), its running descendants, and its ended ones, in
    s."""
    table = _table()
    return TICK_S * sum(sum(table[pid][1]) for pid in _tree(table, os.getpid() if root is None else root))


def marked(mark: str) -> list[int]:
    """Return running processes with `mark` in their environment, except this one."""
    return sorted(pid for pid in _table() if pid != os.getpid() and _has_mark(pid, mark))


def words_of(pid: int) -> str:
    """Return the command line of a process; empty if it has ended."""
    with contextlib.suppress(OSError):
        return (
            (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        )
    return ""


def end(pid: int) -> None:
    """Kill a process if it still runs."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


Table = dict[int, tuple[int, list[int]]]


def _table() -> Table:
    """Return process → (parent, CPU times) of all readable processes."""
    table: Table = {}
    for folder in PROC.iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError, IndexError, ValueError):
                # The name before the last ")" may contain anything.
                fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
                table[int(folder.name)] = (int(fields[PARENT]), [int(word) for word in fields[TIMES]])
    return table


def _tree(table: Table, root: int) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in table.items():
        children.setdefault(parent, []).append(pid)
    pids, waiting = set[int](), [root]
    while waiting:
        pid = waiting.pop()
        if pid in table and pid not in pids:
            pids.add(pid)
            waiting += children.get(pid, ())
    return pids


def _has_mark(pid: int, mark: str) -> bool:
    try:
        return mark.encode() in (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
