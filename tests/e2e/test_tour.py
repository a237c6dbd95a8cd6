"""The tours of the documentation run as written: every command of their blocks, in order, in one shell."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.basics.units import US_PER_S
from shared.runtimes.poll import poll_until
from tests.support.living import LIGHTWAVE, LivingTwin, living

ROOT = Path(__file__).parents[2]
DOCUMENTS = {
    "README.md": (),
    "docs/tutorials/tour.md": ("SliceRestored", "ops/sites/campus.yaml: dcn-0: 16 blocks"),
}
"""Documents with a tour → required output, in addition to a degraded slice and its cause."""


@pytest.fixture
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingTwin]:
    # The default data folder is `lightwave` in the user's state directory.
    yield from living(tmp_path_factory.mktemp("state") / "lightwave", "--speed", "600", "--seed", "7")


@pytest.mark.parametrize(
    "document",
    [
        "README.md",
        pytest.param("docs/tutorials/tour.md", marks=pytest.mark.slow("forty commands, a Python start each")),
    ],
)
def test_every_command_of_the_tour_runs_as_written(document: str, twin: LivingTwin, tmp_path: Path) -> None:
    text = (ROOT / document).read_text()
    assert "--speed 600 --seed 7" in text
    blocks = re.findall(r"```sh tour\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) >= 3
    env = os.environ | {
        "PATH": f"{Path(LIGHTWAVE).parent}:{os.environ['PATH']}",
        "LIGHTWAVE_URL": twin.url,
        "XDG_STATE_HOME": str(twin.data.parent),
    }
    (tmp_path / "ops").symlink_to(ROOT / "ops")  # files of the tour, relative to the project's folder
    assert poll_until(lambda: twin.get("/v1/clock")["now_us"] > 6_000 * US_PER_S, 120)
    script = "set -euo pipefail\n" + "\n".join(blocks)
    done = subprocess.run(
        ["/bin/bash", "-x", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    output = done.stdout
    assert "SliceDegraded" in output
    assert "InjectFault" in output[output.index("SliceDegraded") :]
    assert '"log_sha256"' in output
    for expected in DOCUMENTS[document]:
        assert expected in output
