"""The time for which each number of cubes was available, against counting at every microsecond."""

from hypothesis import given
from hypothesis import strategies as st

from schemas.body import Body
from schemas.envelope import Envelope, enclose
from schemas.messages.cubes import CubeDrained, CubeHealthy, CubeOverheated, CubeUndrained, CubeUnhealthy
from schemas.messages.ocs import OcsPartDown, OcsPartUp, PortDown, PortsDown, PortsUp
from services.totals.availability_time import BLOCK_SIZES, AvailabilityTime

CUBES, END_US = 20, 60
PARTS = ("pod-0/ocs-1/fan-0", "pod-0/ocs-2/driver-3")


def emitted(at_us: int, body: Body) -> Envelope:
    return enclose(body, fabric="pod-0", at_us=at_us, cause=None, source="test@pod-0", seq=0)


def ports(kind: type[PortsDown | PortsUp], board: int) -> Body:
    return kind(part=PARTS[1] + str(board), ocs=2, side="N", ports=())


@given(
    since_us=st.integers(0, 30),
    toggles=st.lists(
        st.tuples(
            st.integers(0, END_US - 1),
            st.sampled_from(["health", "drain", "part", "ports"]),
            st.integers(0, CUBES - 1),
        ),
        max_size=40,
    ),
)
def test_availability_time_matches_counting_every_microsecond(
    since_us: int, toggles: list[tuple[int, str, int]]
) -> None:
    standing = AvailabilityTime(CUBES, since_us)
    out: set[tuple[str, int]] = set()
    available = [0] * (CUBES + 1)
    whole = [0] * (CUBES + 1)
    blocks = {size: 0 for size in BLOCK_SIZES if size <= CUBES}
    rows = sorted(toggles)
    for at_us in range(END_US):
        while rows and rows[0][0] == at_us:
            _, what, cube = rows.pop(0)
            key = (what, cube % 2 if what in ("part", "ports") else cube)
            out ^= {key}
            is_out = key in out
            body: Body
            match what:
                case "health":
                    body = CubeUnhealthy(cube=cube, reasons=()) if is_out else CubeHealthy(cube=cube)
                case "drain":
                    body = CubeDrained(cube=cube) if is_out else CubeUndrained(cube=cube)
                case "part":
                    body = (OcsPartDown if is_out else OcsPartUp)(part=PARTS[0] + str(cube % 2))
                case _:
                    body = ports(PortsDown if is_out else PortsUp, cube % 2)
            standing.see(emitted(at_us, body))
        if at_us < since_us:
            continue
        free = [not {("health", cube), ("drain", cube)} & out for cube in range(CUBES)]
        available[sum(free)] += 1
        whole[sum(free)] += not any(what in ("part", "ports") for what, _ in out)
        for size in blocks:
            many = CUBES // size
            blocks[size] += sum(all(free[n * size : (n + 1) * size]) for n in range(many))
    found = standing.spans(END_US)
    assert found.available == tuple(available)
    assert found.all_ocs == tuple(whole)
    assert found.blocks == {size: us / (CUBES // size) for size, us in blocks.items()}


def test_other_messages_change_nothing() -> None:
    standing = AvailabilityTime(4, 0)
    standing.see(emitted(5, CubeOverheated(cube=1)))
    standing.see(emitted(6, PortDown(ocs=1, side="N", port=2)))
    assert standing.spans(10).available == (0, 0, 0, 0, 10)
    assert sum(standing.spans(10).all_ocs) == 10
