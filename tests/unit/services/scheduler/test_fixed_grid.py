"""The scheduler of a static pod: boxes of adjacent cubes, no circuits, no swaps of single cubes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.pods import StaticPodConfig
from schemas.config.scheduler import SchedulerConfig
from schemas.messages.cubes import CubeDrained, CubeHealthy, CubeUndrained, CubeUnhealthy
from schemas.messages.scheduler import (
    CubeSwapped,
    SliceAdmitted,
    SliceDegraded,
    SliceNoticed,
    SliceRecovering,
    SliceRefused,
    SliceRequeued,
    SliceRestored,
    SliceStarted,
)
from schemas.messages.transceivers import LinksChanged
from schemas.messages.workload import SliceReleased, SliceRequested
from schemas.names import Shape
from services.scheduler.service import SERVICE
from services.scheduler.structures.occupancy import Occupancy
from services.scheduler.structures.pod_placement import FixedGridPlacement, SwitchedPlacement
from shared.basics.units import US_PER_HOUR
from shared.models.static_pod.boxes import boxes
from shared.models.static_pod.static_pod_plant import CUBES, neighbour_end
from shared.models.superpod.shapes import MESHES, chips_of, legal_shapes
from shared.models.superpod.wiring import ENDS_PER_CUBE
from tests.support.requested import slice_requested
from tests.support.rig import Bench, bodies

FITTING = [shape for shape in legal_shapes(CUBES) if max(shape) <= 16]
NAME = "pod-0/slice-0"
ONE_GONE_PPM = 10**12 // (10**6 + 300_000 * 62_500 // 937_500)
"""The speed of a slice one cube wide that has lost one of the 16 links along its longest side."""


def name(number: int) -> str:
    return f"pod-0/slice-{number}"


def requested(
    number: int, shape: Shape, twisted: bool = False, estimate_us: int | None = None
) -> SliceRequested:
    return slice_requested(name(number), shape=shape, twisted=twisted, estimate_us=estimate_us)


def admitted(number: int, shape: Shape, cubes: tuple[int, ...], waited_us: int = 0) -> SliceAdmitted:
    return SliceAdmitted(
        slice=name(number), shape=shape, twisted=False, cubes=cubes, corner=None, waited_us=waited_us
    )


def grid_bench() -> Bench:
    policy = SchedulerConfig(decision_s=0, preflight_s=0)
    return Bench([SERVICE], StaticPodConfig(scheduler=policy))


def running(shape: Shape) -> Bench:
    """A bench with one slice, placed from cube 0 on."""
    bench = grid_bench()
    bench.say(requested(0, shape), 5)
    return bench


def face(cube: int, number: int) -> tuple[int, ...]:
    """The 16 link ends of a face of a cube; the faces are +x −x +y −y +z −z."""
    first = ENDS_PER_CUBE * cube + 16 * number
    return tuple(range(first, first + 16))


def changed(
    *, up: tuple[int, ...] = (), degraded: tuple[int, ...] = (), down: tuple[int, ...] = ()
) -> LinksChanged:
    return LinksChanged(up=up, degraded=degraded, down=down)


def test_a_slice_of_whole_cubes_gets_a_box_and_starts_at_once() -> None:
    bench = grid_bench()
    shape: Shape = (4, 8, 8)
    assert bodies(bench.say(requested(0, shape), 5)) == [
        admitted(0, shape, (0, 1, 4, 5)),
        SliceStarted(slice=NAME),
    ]
    document = bench.documents["slices", NAME]
    assert (document.state, document.started_us, document.links_down) == ("running", 5, 0)


def test_a_box_needs_all_its_cubes_idle() -> None:
    bench = grid_bench()
    for number in range(CUBES):
        bench.say(requested(number, (4, 4, 4)), 5)
    for number in (0, 5, 10):  # three idle cubes, no two of them adjacent
        bench.say(SliceReleased(slice=name(number), reason="finished"), 6)
    assert bench.say(requested(64, (4, 4, 8)), 7) == []
    reason = "first in line; needs 1×1×2 adjacent healthy idle cubes: of 64 cubes, 3 idle and 61 used"
    assert bench.documents["slices", name(64)].reason == reason
    emitted = bodies(bench.say(SliceReleased(slice=name(1), reason="finished"), 9), SliceAdmitted)
    assert emitted == [admitted(64, (4, 4, 8), (0, 1), waited_us=2)]


def test_a_slice_that_never_fits_is_refused_with_the_rule() -> None:
    bench = grid_bench()
    for number, (shape, twisted, rule) in enumerate(
        [((4, 4, 8), True, "cannot be twisted"), ((4, 4, 20), False, "longer than the fixed grid")]
    ):
        (refused,) = bodies(bench.say(requested(number, shape, twisted), 5))
        assert isinstance(refused, SliceRefused)
        assert rule in refused.reason


def fill(bench: Bench, first: int) -> None:
    """Fill all remaining cubes with slices of one cube."""
    for number in range(first, first + CUBES):
        bench.say(requested(number, (4, 4, 4)), 6)


def test_a_slice_of_several_cubes_stays_on_its_failed_cube_if_no_box_is_free() -> None:
    bench = running((4, 4, 8))
    fill(bench, 1)
    (emitted,) = bodies(bench.say(CubeUnhealthy(cube=1, reasons=("host-3",)), 10))
    assert isinstance(emitted, SliceRecovering)
    assert (emitted.part, emitted.choice) == ("pod-0/cube-1", "wait")
    document = bench.documents["slices", NAME]
    assert (document.state, document.reason) == (
        "recovering",
        "pod-0/cube-1 failed and the slice cannot leave it",
    )
    assert bodies(bench.say(CubeHealthy(cube=1), 20)) == [SliceRestored(slice=NAME)]
    assert bench.documents["slices", NAME].cubes == ("pod-0/cube-0", "pod-0/cube-1")


def test_it_moves_to_another_box_if_one_is_idle() -> None:
    bench = running((4, 4, 8))
    hit, requeued, placed, started = bodies(bench.say(CubeUnhealthy(cube=1, reasons=("host-3",)), 10))
    assert isinstance(hit, SliceRecovering)
    assert hit.choice == "evict"
    assert isinstance(requeued, SliceRequeued)
    assert placed == admitted(0, (4, 4, 8), (0, 4))
    assert started == SliceStarted(slice=NAME)
    assert bench.documents["slices", NAME].restarts == 1


def test_it_goes_back_to_the_queue_if_another_box_is_cheaper_than_the_repair() -> None:
    """The slice uses three quarters of the pod. Whichever cube fails, there are boxes without it."""
    bench = running((12, 16, 16))
    for number in range(1, 17):
        bench.say(requested(number, (4, 4, 4), estimate_us=US_PER_HOUR), 6)
    emitted = bodies(bench.say(CubeUnhealthy(cube=20, reasons=("host-3",)), 10))
    assert isinstance(emitted[0], SliceRecovering)
    assert emitted[0].choice == "evict"
    assert isinstance(emitted[1], SliceRequeued)
    assert bench.documents["slices", NAME].promised_us == 6 + US_PER_HOUR
    for number in range(1, 17):
        emitted = bodies(bench.say(SliceReleased(slice=name(number), reason="finished"), 20 + number))
    (placed,) = [body for body in emitted if isinstance(body, SliceAdmitted)]
    assert placed.slice == NAME
    assert 20 not in placed.cubes


def test_a_slice_inside_one_cube_moves_to_any_other() -> None:
    for shape, corner in (((2, 4, 4), (0, 0, 0)), ((4, 4, 4), None)):
        bench = running(shape)
        emitted = bodies(bench.say(CubeUnhealthy(cube=0, reasons=("host-3",)), 10))
        swapped = CubeSwapped(slice=NAME, left=0, spare=1, corner=corner, reason="failed")
        assert emitted[1:] == [swapped, SliceRestored(slice=NAME)]
        (notice,) = bodies(bench.say(CubeDrained(cube=1), 20))
        assert isinstance(notice, SliceNoticed)
        emitted = bodies(bench.run(notice.until_us))
        assert emitted[1] == CubeSwapped(slice=NAME, left=1, spare=2, corner=corner, reason="drained")


def test_a_slice_of_several_cubes_keeps_running_on_a_drained_one() -> None:
    bench = running((4, 4, 8))
    assert bench.say(CubeDrained(cube=1), 10) == []
    bench.say(SliceReleased(slice=NAME, reason="finished"), 20)
    assert bodies(bench.say(requested(1, (4, 4, 8)), 30), SliceAdmitted)[0].cubes == (0, 4)
    bench.say(CubeUndrained(cube=1), 40)
    assert bodies(bench.say(requested(2, (4, 4, 8)), 50), SliceAdmitted)[0].cubes == (1, 2)


def test_only_links_between_the_cubes_of_a_slice_are_its_links() -> None:
    bench = running((4, 4, 8))  # cubes 0 and 1, joined by +z of 0 and −z of 1
    between, outside = face(0, 4), face(1, 4) + face(0, 5) + face(0, 0)
    assert bench.say(changed(down=outside), 10) == []
    emitted = bodies(bench.say(changed(down=between[:3], degraded=between[3:4]), 20))
    speed_ppm = 10**12 // (10**6 + 300_000 * 187_500 // 812_500)  # 13 of 16 links are left
    assert isinstance(emitted[0], SliceRecovering)
    assert emitted[1:] == [SliceDegraded(slice=NAME, links_down=3, links_degraded=1, speed_ppm=speed_ppm)]
    assert bodies(bench.say(changed(up=between[:4]), 30)) == [SliceRestored(slice=NAME)]


def test_links_wrap_around_only_a_slice_that_spans_the_grid() -> None:
    wrap = face(3, 4)[:1] + face(0, 5)[:1]  # the link from the last cube along z to the first
    for shape, degraded in (
        ((4, 4, 12), []),
        ((4, 4, 16), [SliceDegraded(slice=NAME, links_down=2, links_degraded=0, speed_ppm=ONE_GONE_PPM)]),
    ):
        assert bodies(running(shape).say(changed(down=wrap), 10), SliceDegraded) == degraded


def test_bad_links_are_remembered_while_no_slice_uses_them() -> None:
    bench = grid_bench()
    bench.say(changed(down=face(0, 4)[:1], degraded=face(1, 5)[:2]), 10)
    emitted = bodies(bench.say(requested(0, (4, 4, 8)), 20))
    slow = SliceDegraded(slice=NAME, links_down=1, links_degraded=2, speed_ppm=ONE_GONE_PPM)
    assert emitted[1:] == [SliceStarted(slice=NAME, speed_ppm=ONE_GONE_PPM), slow]
    assert bench.documents["slices", NAME].state == "degraded"
    bench.say(SliceReleased(slice=NAME, reason="finished"), 30)
    assert bodies(bench.say(requested(1, (4, 4, 8)), 40), SliceDegraded) == [
        slow.model_copy(update={"slice": name(1)})
    ]
    bench.say(changed(up=face(0, 4)[:1] + face(1, 5)[:2]), 50)
    assert bench.state("scheduler").bad_ends == {}


@given(st.sampled_from(FITTING), st.sets(st.integers(0, CUBES - 1)))
def test_a_slice_fits_a_static_pod_only_if_it_would_fit_a_superpod(shape: Shape, busy: set[int]) -> None:
    occupancy = Occupancy(CUBES)
    for cube in busy:
        occupancy.allow(cube, False)
    for whole_cubes in (True, False):
        fixed = FixedGridPlacement().find_fit(occupancy, shape, whole_cubes)
        switched = SwitchedPlacement().find_fit(occupancy, shape, whole_cubes)
        if shape in MESHES or chips_of(shape) == 64:
            assert fixed == switched
        elif switched is None:
            assert fixed is None
        elif fixed is not None:
            cubes, corner = fixed
            assert corner is None
            assert not busy & set(cubes)
            assert cubes in {box for _, box in boxes(shape)}


@given(
    st.lists(
        st.one_of(
            st.sampled_from(FITTING),
            st.tuples(st.sampled_from(["fail", "heal", "drain", "undrain", "release"]), st.integers(0, 63)),
        ),
        max_size=60,
    )
)
@settings(max_examples=60)
def test_every_slice_counts_the_bad_links_between_its_cubes(
    steps: list[Shape | tuple[str, int]],
) -> None:
    """Random lives on a pod where every fifth link end is bad. The oracle uses only the documents."""
    bench = grid_bench()
    bad = tuple(range(0, CUBES * ENDS_PER_CUBE, 5))
    bench.say(changed(down=bad), 1)
    far = (neighbour_end(np.arange(CUBES * ENDS_PER_CUBE)) // ENDS_PER_CUBE).tolist()
    number = 0
    for step in steps:
        if len(step) == 3:
            bench.say(requested(number, step), bench.now_us + 1)
            number += 1
            continue
        action, at = step
        bench.say(
            {
                "fail": CubeUnhealthy(cube=at, reasons=("host-0",)),
                "heal": CubeHealthy(cube=at),
                "drain": CubeDrained(cube=at),
                "undrain": CubeUndrained(cube=at),
                "release": SliceReleased(slice=name(at), reason="finished"),
            }[action],
            bench.now_us + 1,
        )
    bench.assert_documents_hold()
    for (kind, _), document in bench.documents.items():
        if (
            kind == "slices"
            and document is not None
            and document.state in ("running", "degraded", "recovering")
        ):
            own = {int(cube.rpartition("-")[2]) for cube in document.cubes}
            expected = [end for end in bad if end // ENDS_PER_CUBE in own and far[end] in own]
            assert document.links_down == (len(expected) if len(own) > 1 else 0)
            assert document.links_degraded == 0
