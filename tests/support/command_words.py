"""Random words for a command line: some are valid arguments, most are not."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

FITTING = (
    *("1", "4", "0.5", "30s", "2h", "3d02:15:04", "4x4x8", "pod-0", "pod-0/cube-12", "pod-0/ocs-17"),
    *("pod-0/cube-12/+y/7", "pod-0/ocs-17/N24", "slice/pod-0/slice-3", "operator@pod-0/1", "state=down"),
    *("seed=3", "workload.offered_load=0.7", "ocs", "superpod", "running", "cwdm4-bidi", "50G-PAM4"),
    *("ocs:pod-0/ocs-17@6h+10m", "Tick", "name,-state", "127.0.0.1", "redis://127.0.0.1:1/0"),
)
HOSTILE = (
    *("", " ", "\t", "\r", "-", "--", "-1", "-x", "--nope", "--output", "=", "a=", "=b", "a=b=c", "*"),
    *("nan", "-nan", "inf", "-inf", "1e400", "-1e-400", "0", "-0.0", "1_000", "0x10", "9" * 400, "٣"),
    *("2h-", "99999999999d", "1d1d", "4x4", "4x4x4x4", "0x0x0", "-4x4x4", f"4x4x{'9' * 99}", "null"),
    *("pod-0/", "pod-0//cube-1", "pod-0/cube-99999999999999999999", "pod-\u0660", "a" * 5_000, "é", "½"),
    *("\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\u202eesrever", "\u200b", "\udcff\udcfe", "\U0001f4a1"),
    *("a\nlightwave: b", "'", '"', "%s", "{0}", "$(id)", "`id`", "!!", "@", "#", "::", "@+", "[", "\\"),
    *("seed=", "seed=nan", "seed=[[[[", "pod.cubes=1e99", "\x1b=1", "host:@", "ocs:pod-0/ocs-1@-1s"),
    *("redis://", "redis://:x@127.0.0.1:1/0", "unix:///nowhere", "http://127.0.0.1:1", "127.0.0.1:99999"),
)
"""None is a path outside the working folder, because a command may write to the path it gets."""
SPECIAL = ("/dev/null", "/dev/zero", "/dev/full")


def files(folder: Path) -> tuple[str, ...]:
    """Create a folder with files of every kind; return their paths and some that do not exist."""
    folder.mkdir()
    made = {
        "empty": b"",
        "binary": bytes(range(256)) * 16,
        "text": b"NAME ROLE TOKEN\n",
        "bomb.yaml": b"a: &a [x, x]\nb: [*a, *a]\n",
        "deep.yaml": b"[" * 5_000,
        "site.yaml": b"site: campus\nfabrics:\n  - name: pod-0\n",
        "torn.jsonl": b'{"id": "sequencer@pod-0/0", "type": "Fab',
        "broken.zst": b"\x28\xb5\x2f\xfd broken",
        "broken.gz": b"\x1f\x8b broken",
        "trace.csv": b"submit_s,duration_s,chips\n0,nan,64\n",
        "live.toml": b'kafka = "127.0.0.1:1"\nredis = 7\n',
        "\x1b[31m.html": b"",
    }
    for name, content in made.items():
        (folder / name).write_bytes(content)
    (folder / "sub").mkdir()
    (folder / "dangling").symlink_to("nowhere")
    (folder / "loop").symlink_to("loop")
    paths = [str(path) for path in sorted(folder.iterdir())]
    return (*paths, f"{folder}/no/such", f"{folder}/text/below", *SPECIAL)


def choices(kind: click.ParamType) -> Sequence[str]:
    """Return the words that a parameter allows."""
    allowed = getattr(kind, "choices", ()) or getattr(kind, "words", ())
    return [str(word) for word in allowed]


class ArgumentGenerator:
    """Draws arguments for one command; the same seed gives the same arguments."""

    def __init__(self, command: click.Command, paths: Sequence[str], seed: str) -> None:
        self._command = command
        self._paths = paths
        self._draw = random.Random(seed)

    def words(self) -> list[str]:
        """Return all arguments of one call."""
        words = [word for param in self._command.params for word in self._words_of(param)]
        if self._draw.random() < 0.15:
            words.insert(self._draw.randint(0, len(words)), self._draw.choice(HOSTILE))
        return words

    def _words_of(self, param: click.Parameter) -> Iterator[str]:
        if isinstance(param, click.Argument):
            if self._draw.random() < 0.95:
                yield self._word(param)
            return
        times = 1 if param.required else self._draw.choice((0, 0, 0, 0, 1, 1, 2))
        for _ in range(times):
            yield self._draw.choice([*param.opts, *param.secondary_opts])
            if not getattr(param, "is_flag", False) and self._draw.random() < 0.98:
                yield self._word(param)

    def _word(self, param: click.Parameter) -> str:
        own = choices(param.type)
        pool: Sequence[str] = self._draw.choice((HOSTILE, FITTING, self._paths))
        if own and self._draw.random() < 0.6:
            pool = own
        elif isinstance(param.type, click.Path) and self._draw.random() < 0.7:
            pool = self._paths
        return self._draw.choice(pool)
