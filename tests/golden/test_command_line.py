"""The commands' output, word for word, for a small twin with a paused clock. Changes of the output must be
deliberate.

`make golden` writes the file again.
"""

import itertools
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.forked import run_forked
from tests.support.gateway_twin import DrivenTwin, WakingMemory
from tests.support.served import served

KEPT = Path(__file__).parent / "command_line.txt"
PAIRS = [
    "pod.cubes=8",
    "workload.offered_load=0.8",
    "failures.host_per_day=0.02",
    "failures.ocs_per_day=0.02",
    "failures.link_per_day=0.002",
]
LINES = """
get fabrics
get cubes
get cube pod-0/cube-3 -o yaml
get ocs pod-0/ocs-17
get hosts pod-0/cube-4/host-0
get links pod-0/cube-3/+z/7
get slices
get faults
get repairs
get repair pod-0/repair-0 -o json
get verdicts
trace pod-0/cube-3/+z/7
trace pod-0/cube-3/+z/7 -o json
trace pod-0/cube-3/+z/14
trace pod-0/cube-6/-x/0
impact pod-0/ocs-17
impact pod-0/ocs-48
commission pod-0 --site campus
describe slice pod-0/slice-13
describe cube pod-0/cube-4
describe link pod-0/cube-3/+z/7
describe fault pod-0/fault-0
events --type HostDown
events --limit 6
request 1x2x2 --for 6h --priority 5
request 4x4x4
inject ocs pod-0/ocs-17 --for 2h
get ocs pod-0/ocs-17
clear pod-0/fault-99
drain pod-0/cube-3
drain pod-0/cube-3
undrain pod-0/cube-3
events --cause operator@pod-0/1
events --cause operator@pod-0/3 --type SliceDegraded
events --for pod-0/ocs-17 --type OcsDown --type OcsUp --since 0d15:00:00 --no-ticks
history pod-0/cube-4 --limit 6
history pod-0/cube-4/+y/7 --limit 3
history pod-0/slice-999
why pod-0/slice-13
why repairs@pod-0/1
forecast --drain pod-0/cube-3@1h --days 0.25 --futures 2 --jobs 1
forecast --request 4x4x4+2h --days 0.1 --future 2
forecast --undrain pod-0/ocs-3
forecast --drain cube-99 --days 0.1 --futures 2 --jobs 1
release pod-0/slice-77
inject port pod-0/ocs-9/S0 --for 2h
trace pod-0/cube-0/-x/9
link budget pod-0/cube-0/-x/9
inject connector pod-0/cube-1/+z/3
inject link pod-0/cube-3/+z/7 --for 2h
get link pod-0/cube-3/+z/7
trace pod-0/cube-2/-z/7
clear pod-0/fault-7
trace pod-0/cube-99/+y/1
get link pod-0/cube-3/+z/16
retire pod-9
retire pod-0
retire pod-0
get fabrics
undrain pod-0/cube-3
clock pause
get cube pod-0/cube-4 --at 0d05:00:00
get slices --at repairs@pod-0/3 --top 3
explain slice pod-0/slice-1 --at 0d10:00
get cubes --at tomorrow
bisect 'ocs.ocs-17.state == down'
bisect 'ocs.pod-0/ocs-17.state == down' --all
bisect 'count(cubes, health == unhealthy) > 0 and not slices.pod-0/slice-13 absent' --from 3h --to 12h --all
bisect 'cubes.pod-0/cube-3.health == unhealthy' --to 2h
bisect 'cubes.pod-0/cube-3 exists' --from 1h
bisect 'cubes.pod-0/cube-3.health == ill'
get dragons
get slices pod-0/slice-77
events --since yesterday
topology show 4x4x8 --twisted
topology show 8x8x8 --without 17
topology show 8x8x8 --twisted
topology route 4x4x8 --twisted
topology route 4x4x8 --without-link 5,up
topology suggest --chips 256 --traffic all-to-all
topology suggest --chips 100
model availability --kind cwdm8-bidi
model goodput --host-availability 0.99 --slice-chips 1024
model goodput --host-availability 0.99 --slice-chips 1024 --ocs-availability 0.999
model goodput --slice-chips 1000
model placement --cube-availability 0.882 --ocs-availability 0.9988 --slice-cubes 53
link budget pod-0/cube-3/+z/7
link budget pod-0/cube-3/+z/14 --to pod-0/cube-2/+z/14
link budget --loss-db 2.5 --return-loss-db -30 --no-soft-fec
link sensitivity --mpi-db -32 --mitigation
link sensitivity --mpi-db -28
reproduce --only fabric --only twist/gain-4x4x8
reproduce --only availability/ocs
reproduce --only godput
""".strip().splitlines()


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """Return the address of a twin that has run for 15 hours and whose clock is now paused."""
    twin = DrivenTwin(tmp_path, PAIRS, store=WakingMemory(itertools.count(1).__next__))
    twin.advance(15.2)
    with served(twin) as address:
        yield address
    twin.close()


def test_the_output_of_the_commands_is_unchanged(url: str) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("LIGHTWAVE_")}
    made = ""
    for line in LINES:
        done = run_forked(shlex.split(line), env | {"LIGHTWAVE_URL": url}, merged=True)
        code = f"[exit code {done.returncode}]\n" if done.returncode else ""
        made += f"$ lightwave {line}\n{done.stdout}{code}\n"
    if os.environ.get("GOLDEN") == "write":
        KEPT.write_text(made)
    assert made == KEPT.read_text(), "the output changed; if that is intended, run `make golden`"
