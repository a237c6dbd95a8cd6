"""A message of the log in one short line."""

from ops.cli.messages import brief


def test_a_summary_is_short_and_says_shapes_and_spans() -> None:
    assert brief({"slice": "pod-0/slice-1", "shape": [4, 4, 8], "waited_us": 61_000_000}) == (
        "slice=pod-0/slice-1 shape=4x4x8 waited=1m1s"
    )
    assert (
        brief({"down": list(range(9)), "up": [], "cause": None, "twisted": False})
        == "down=(9 of them) twisted=no"
    )
    assert (
        brief({"cubes": [8], "joins": [[0, 8, 8]], "due_us": 0}) == "cubes=8 joins=(1 of them) due=0d00:00:00"
    )
    assert len(brief({"text": "x" * 500})) == 100
