"""Wrong use of `python -m tests.soak` is reported in one sentence, before anything starts."""

import signal
import sys

import pytest

from tests.soak.__main__ import main


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("--minutes 0", ("--minutes",)),
        ("--faults 0", ("--faults",)),
        ("--joins 65", ("--joins", "65")),
        (f"--pods 2 --site {__file__}", ("--pods", "together with --site")),
        (f"--site {__file__}", ("--site", __file__, "not YAML")),
    ],
)
def test_wrong_use(
    words: str, parts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["soak", *words.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    text = capsys.readouterr().err.strip()
    assert text.startswith("lightwave: ")
    assert len(text.splitlines()) == 1
    assert all(part in text for part in parts)
