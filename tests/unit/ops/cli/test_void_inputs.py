"""Files and options without content, or that can have no effect, are refused with one sentence and exit code
2.

The table has every file and option that can be empty.
"""

from pathlib import Path

import pytest

from ops.cli import main as command_line
from ops.serving.access_tokens import known_tokens
from shared.basics.errors import InvalidInput

RUN = ("lab", "run", "--days", "0.01")
DOCUMENT = "title: t\nquestion: q?\nfabric: {days: 1}\nmeasure: [goodput]\n"
HEADER = "submit_s,duration_s,chips\n"
FAULTS = "kind,target,begin_s,for_s\n"
SITE = "site: x\nfabrics:\n - {name: pod-0, config: {trace: []}}\n"


@pytest.mark.parametrize(
    ("text", "words", "sentence"),
    [
        # recorded requests
        ("", (*RUN, "--trace", "FILE"), "is empty; must have the columns submit_s,duration_s,chips and rows"),
        (HEADER, (*RUN, "--trace", "FILE"), "has no rows; must have one or more after the header"),
        (
            f"{HEADER}1680000000,60,64\n",
            (*RUN, "--trace", "FILE"),
            "1 of 1 rows are not played: 1 after the end",
        ),
        (
            f"{HEADER}0,60,64\n",
            (*RUN, "--trace", "FILE", "--trace-from", "1d"),
            "1 of 1 rows are not played: 1 before",
        ),
        (
            f"{HEADER}0,60,64\n",
            (*RUN, "--trace-from", "1d"),
            "--trace-from: needs a trace; give --trace FILE",
        ),
        (f"{HEADER}0,60,64\n", (*RUN, "--kind", "dcn", "--trace", "FILE"), "a dcn has no slices to request"),
        # recorded and injected faults, and changes of parameters
        (
            "",
            (*RUN, "--faults", "FILE"),
            "is empty; must have the columns kind,target,begin_s,for_s and rows",
        ),
        (FAULTS, (*RUN, "--faults", "FILE"), "has no rows; must have one or more after the header"),
        (
            f"{FAULTS}ocs,ocs-1,90000,5\n",
            (*RUN, "--faults", "FILE"),
            "1 of 1 rows are not played: they begin after",
        ),
        ("", (*RUN, "--inject", ""), "--inject '': must be KIND:TARGET@TIME+FOR"),
        ("", (*RUN, "--inject", "ocs:ocs-1@5d"), "is after the end of the run; must be at most 0.01 days"),
        ("", (*RUN, "--set", ""), "--set '': not KEY=VALUE"),
        ("", (*RUN, "--set", "repairs.technicians=3@5d"), "is after the end of the run; must be at most"),
        # sites, calibrations, kinds
        ("", (*RUN, "--site", "FILE"), "is empty; must have site and fabrics"),
        (
            "site: x\nfabrics: []\n",
            (*RUN, "--site", "FILE"),
            "fabrics: [] is not allowed; must be a list of one or more",
        ),
        (SITE, (*RUN, "--site", "FILE"), "trace: is empty; must have one or more requests"),
        ("", (*RUN, "--calibration", "FILE"), "null is not allowed; must be parameters, with value"),
        (
            "",
            (*RUN, "--kind", "dcn", "--chart", "x.html"),
            "--chart: draws the goodput of pods, and a dcn has none",
        ),
        (
            "",
            ("lab", "config", "--kind", "dcn", "--calibration", "field"),
            "--kind: cannot be combined with --calib",
        ),
        (
            "",
            ("live", "init", "--set", "repairs.technicians=3@5d"),
            "only `lab run` and experiments change a parameter",
        ),
        # experiments
        ("", ("experiment", "validate", "FILE"), "is empty; must be a mapping with title, question"),
        (
            f"{DOCUMENT}vary: {{grid: {{}}}}\n",
            ("experiment", "validate", "FILE"),
            "is empty; must have values, or leave vary out",
        ),
        (
            f"{DOCUMENT}vary: {{list: []}}\n",
            ("experiment", "validate", "FILE"),
            "is empty; must have values, or leave vary out",
        ),
        (
            DOCUMENT.replace("[goodput]", "[]"),
            ("experiment", "validate", "FILE"),
            "measure: [] is not allowed",
        ),
        ("", ("reproduce", "--only", ""), "--only '': no such claim"),
        ("", ("reproduce", "--only", "nonsense"), "--only 'nonsense': no such claim; the nearest are"),
        # words and numbers
        (
            "",
            (*RUN, "--seed", "abc"),
            "--seed: 'abc' is not allowed; must be a whole number from 0 to 9,223,372",
        ),
        ("", (*RUN, "--jobs", "many"), "--jobs: 'many' is not allowed; must be a whole number from 1 to 64"),
        ("", (*RUN, "--jobs", "0"), "--jobs: 0 is not allowed; must be a whole number from 1 to 64"),
    ],
)
def test_an_empty_input_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "input.yaml"
    path.write_text(text)
    monkeypatch.setattr("sys.argv", ["lightwave", *(str(path) if word == "FILE" else word for word in words)])
    failures: list[tuple[str, int]] = []

    def fail(words: str, code: int) -> None:
        failures.append((words, code))
        raise SystemExit(code)

    monkeypatch.setattr(command_line, "_fail", fail)
    with pytest.raises(SystemExit):
        command_line.main()
    ((sentence_shown, code),) = failures
    assert sentence in " ".join(sentence_shown.split())
    assert code == 2


@pytest.mark.parametrize("text", ["", "\n\n", "# names follow\n"])
def test_a_file_of_tokens_must_have_names(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(text)
    path.chmod(0o600)
    for token in (None, "t" * 20):
        with pytest.raises(InvalidInput, match="has no names; must have one or more lines NAME ROLE TOKEN"):
            known_tokens(token, path)


def test_an_empty_token_is_no_token() -> None:
    with pytest.raises(InvalidInput, match="is empty; must have 16 to 512 characters"):
        known_tokens("", None)
