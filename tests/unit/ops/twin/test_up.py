"""What `lightwave up` looks at before it makes or forgets anything."""

from pathlib import Path

import pytest

from ops.common.sites import AskedTwin
from ops.twin.data import MARK, DataFolder
from ops.twin.up import UpOptions, run_up
from shared.basics.errors import InvalidInput, StoreUnreachable

SLIPS = [
    AskedTwin(pairs=("pod.cube=8",)),
    AskedTwin(kind="superpot"),
    AskedTwin(site_files=(Path("no-such.yaml"),)),
    AskedTwin(2, site_files=(Path("no-such.yaml"),)),
]


@pytest.mark.parametrize("asked", SLIPS)
def test_a_slip_beside_fresh_loses_nothing(asked: AskedTwin, tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    folder.settle(AskedTwin())
    folder.logs.mkdir()
    (folder.logs / "pod-0.jsonl").write_text("what has happened\n")
    with pytest.raises(InvalidInput):
        run_up(UpOptions(data=tmp_path, asked=asked, fresh=True, port=0))
    assert (folder.logs / "pod-0.jsonl").read_text() == "what has happened\n"
    assert (tmp_path / MARK).exists()


def test_a_redis_that_does_not_answer_beside_fresh_loses_nothing(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    folder.settle(AskedTwin())
    with pytest.raises(StoreUnreachable):
        run_up(UpOptions(data=tmp_path, fresh=True, port=0, redis="redis://127.0.0.1:1/0"))
    assert (tmp_path / MARK).exists()


@pytest.mark.parametrize("asked", SLIPS)
def test_a_slip_leaves_no_new_folder_behind(asked: AskedTwin, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        run_up(UpOptions(data=tmp_path / "new", asked=asked, port=0))
    assert not (tmp_path / "new").exists()
