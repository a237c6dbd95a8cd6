"""Values that probes measured are shown once, rounded, and a share by its name."""

from ops.drills.measured_text import measured_texts


def test_the_two_bounds_of_a_share_are_one_value() -> None:
    assert measured_texts(("count=0.6428571428571429", "count=0.6428571428571429")) == ["share=0.6429"]
    assert measured_texts(("count=1.0",)) == ["share=1"]


def test_counts_and_fields_keep_their_names() -> None:
    assert measured_texts(("count=3", "fabrics.pod-0.ocs_down=1")) == ["count=3", "fabrics.pod-0.ocs_down=1"]
    assert measured_texts(("links.pod-0/cube-0/+x/0.ber=2.0512345e-06",)) == [
        "links.pod-0/cube-0/+x/0.ber=2.051e-06"
    ]
    assert measured_texts(("slices.pod-0/slice-3.state=running", "not measured: why")) == [
        "slices.pod-0/slice-3.state=running",
        "not measured: why",
    ]
