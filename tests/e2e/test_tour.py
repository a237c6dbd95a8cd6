"""The README's tour, run as written: every command of its blocks, in order, in one shell."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.basics.units import US_PER_S
from shared.runtimes.waiting import until
from tests.support.living import LIGHTWAVE, LivingTwin, living

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingTwin]:
    # The default data folder is `lightwave` in the user's state directory.
    yield from living(tmp_path_factory.mktemp("state") / "lightwave", "--speed", "600", "--seed", "7")


def test_every_command_of_the_tour_does_what_the_readme_says(twin: LivingTwin, tmp_path: Path) -> None:
    text = README.read_text()
    assert "lightwave up --speed 600 --seed 7" in text
    blocks = re.findall(r"```sh tour\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) >= 6
    env = os.environ | {
        "PATH": f"{Path(LIGHTWAVE).parent}:{os.environ['PATH']}",
        "LIGHTWAVE_URL": twin.url,
        "XDG_STATE_HOME": str(twin.data.parent),
    }
    (tmp_path / "ops").symlink_to(README.parent / "ops")  # files of the tour, from where a person stands
    assert until(lambda: twin.get("/v1/clock")["now_us"] > 6_000 * US_PER_S, 120)
    script = "set -euo pipefail\n" + "\n".join(blocks)
    done = subprocess.run(
        ["/bin/bash", "-x", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout
    assert "SliceDegraded" in told
    assert "SliceRestored" in told
    chain = told[told.index("SliceDegraded") :]
    assert "InjectFault" in chain
    assert '"log_sha256"' in told
    assert "ops/sites/campus.yaml: dcn-0: 16 blocks" in told
