"""Sites from YAML: valid files, and the sentence for each error."""

from pathlib import Path

import pytest

from ops.sites.site_plans import NewTwinOptions, common_seed, read_site
from schemas.files.site_plan import SitePlan
from shared.basics.errors import InvalidInput

HEAD = "site: campus\nfabrics:\n  - name: pod-0\n"
CONFIG = f"{HEAD}    config: "
WHOLE = "a whole number between 0 and 9223372036854775807"
ROW = "submit_us: 1, duration_us: 5, twisted: false, priority: 1"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "campus.yaml"


def test_a_site_has_its_fabrics_in_order_with_their_set_values(file: Path) -> None:
    file.write_text(
        "site: campus\nfabrics:\n  - {name: pod-10, kind: static-pod}\n"
        "  - {name: pod-2, config: {seed: 7, pod: {cubes: 16}, transceivers: {degraded_above_ber: 1e-5}}}\n"
        "  - {name: pod-3, config: }\n"
    )
    plan = read_site(file)
    assert (plan.site, [*plan.fabrics]) == ("campus", ["pod-2", "pod-3", "pod-10"])
    set_values = plan.fabrics["pod-2"].model_dump(exclude_unset=True)
    assert set_values == {"seed": 7, "pod": {"cubes": 16}, "transceivers": {"degraded_above_ber": 1e-5}}
    assert [config.kind for config in plan.fabrics.values()] == ["superpod", "superpod", "static-pod"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty; must have site and fabrics"),
        ("[1]", "the file: [1] is not allowed; must be site, fabrics, calibration, with values"),
        ("fabrics: []", "site: is missing; names are like campus or pod-0"),
        ("site: Campus", "site: 'Campus' is not a valid name; names are like campus or pod-0"),
        ('site: "c\\e\\u202e"', r"site: 'c\x1b\u202e' is not a valid name; names are like campus or pod-0"),
        (f"site: {'x' * 10_000}", f"site: '{'x' * 58}… is not a valid name; names are like campus or pod-0"),
        ("site: campus", "fabrics: is missing; must be a list of one or more"),
        ("site: campus\nfabrics: []", "fabrics: [] is not allowed; must be a list of one or more"),
        (
            "{2024-01-01: 1}",
            "the file: no such field '2024-01-01'; must be one of site, fabrics, calibration",
        ),
        ('{"a\\0": 1}', r"the file: no such field 'a\x00'; must be one of site, fabrics, calibration"),
        ("site: campus\nsite: annex", "line 2: site: given twice, first in line 1; keys are unique"),
        (
            "site: a\nfabrics: [{name: pod_0}]",
            "fabrics.0.name: 'pod_0' is not a valid name; names are like pod-4",
        ),
        ("site: a\nfabrics: [{kind: superpod}]", "fabrics.0.name: is missing; names are like pod-4"),
        (
            "site: a\nfabrics: [{name: cube-4}]",
            "fabrics.0.name: cube-4 is the name of an object in a fabric; names are like pod-4",
        ),
        (f"{HEAD}  - name: pod-0", "fabrics.1.name: pod-0 is given twice; names are unique"),
        (
            f"{HEAD}    kind: []",
            "fabrics.0.kind []: no such kind of fabric; must be one of superpod, static-pod, dcn",
        ),
        (f"{CONFIG}0", "fabrics.0.config: 0 is not allowed; must be parameters by name, with values"),
        (
            f"{CONFIG}false",
            "fabrics.0.config: false is not allowed; must be parameters by name, with values",
        ),
        (f"{CONFIG}''", "fabrics.0.config: '' is not allowed; must be parameters by name, with values"),
        (f"{CONFIG}[]", "fabrics.0.config: [] is not allowed; must be parameters by name, with values"),
        (
            f"{CONFIG}{{kind: static-pod}}",
            "fabrics.0.config.kind: is not a parameter; put the kind next to config: fabrics.0.kind",
        ),
        (
            f"{CONFIG}{{seed: 2024-13-45}}",
            f"fabrics.0.config.seed: '2024-13-45' is not allowed; must be {WHOLE}",
        ),
        (
            f"{CONFIG}{{failures: {{until_days: .nan}}}}",
            (
                "fabrics.0.config.failures.until_days: nan is not allowed; "
                "must be a number between 0 and 36,500 or none"
            ),
        ),
        (
            f"{CONFIG}{{pod: {{cubes: 3}}}}",
            "fabrics.0.config.pod.cubes: 3 is not allowed; must be a whole number between 4 and 144",
        ),
        (
            f"{HEAD}    kind: static-pod\n    config: {{pod: {{cubes: 32}}}}",
            "fabrics.0.config.pod.cubes: 32 is not allowed; must be 64",
        ),
        (
            f"{CONFIG}{{pod: {{cube: 8}}}}",
            "fabrics.0.config.pod.cube: no such parameter; did you mean pod.cubes?",
        ),
        (
            f'{CONFIG}{{"a\\e": 8}}',
            r"fabrics.0.config.'a\x1b': no such parameter; `lightwave lab config` lists them",
        ),
        (
            f"{CONFIG}{{pod: 5}}",
            "fabrics.0.config.pod: 5 is not allowed; must be parameters by name, such as pod.cubes",
        ),
        (
            f"{CONFIG}{{transceivers: {{lane_rate: 1G}}}}",
            (
                "fabrics.0.config.transceivers.lane_rate: '1G' is not allowed; "
                "must be 10G-NRZ, 25G-NRZ, 50G-PAM4 or 100G-PAM4"
            ),
        ),
        (
            f"{CONFIG}{{transceivers: {{degraded_above_ber: 0.001}}}}",
            (
                "fabrics.0.config.transceivers.degraded_above_ber: 0.001 is not allowed; "
                "must be at most down_above_ber, 0.0002"
            ),
        ),
        (
            f"{CONFIG}{{trace: [5]}}",
            (
                "fabrics.0.config.trace.0: 5 is not allowed; "
                "must be recorded requests, each with submit_us, duration_us, shape, twisted, priority, "
                "owner, tier, estimate_us"
            ),
        ),
        (f"{CONFIG}{{trace: [{{{ROW}}}]}}", "fabrics.0.config.trace.0.shape: is missing"),
        (
            f"{CONFIG}{{trace: [{{{ROW}, shape: [4, 4]}}]}}",
            (
                "fabrics.0.config.trace.0.shape: [4, 4] is not allowed; "
                "must be three sides in chips, such as [4, 4, 8]"
            ),
        ),
        (
            f"{CONFIG}{{trace: [{{{ROW.replace('5', str(2**63 - 1))}, shape: [4, 4, 4]}}]}}",
            (
                "fabrics.0.config.trace.0.duration_us: 9223372036854775807 is not allowed; "
                "must be a whole number above 0 and at most 3153600000000000"
            ),
        ),
        (
            f"{CONFIG}{{trace: [{{{ROW}, shape: [4, 4, 4]}}, {{{ROW}, shape: [8, 4, 4]}}]}}",
            (
                "fabrics.0.config.trace.1 (submit_us 1): shape 8x4x4: sides must not decrease from x to z; "
                "the nearest legal shape is 4x4x8"
            ),
        ),
    ],
    ids=range(35),
)
def test_an_invalid_site_is_an_error_in_one_sentence(text: str, sentence: str, file: Path) -> None:
    file.write_text(text)
    with pytest.raises(InvalidInput) as raised:
        read_site(file)
    assert str(raised.value) == f"--site {file}: {sentence}"


def test_a_seed_applies_to_fabrics_without_their_own(file: Path) -> None:
    file.write_text("site: a\nfabrics: [{name: pod-0, config: {seed: 7}}, {name: pod-1}]\n")
    (plan,) = NewTwinOptions(seed=5, site_files=(file,)).sites()
    assert [config.seed for config in plan.fabrics.values()] == [7, 5]
    (without,) = NewTwinOptions(site_files=(file,)).sites()
    assert [config.seed for config in without.fabrics.values()] == [7, 0]
    assert (common_seed([plan]), common_seed(NewTwinOptions(2, seed=3).sites())) == (None, 3)


def test_a_seed_that_no_fabric_would_take_is_refused(file: Path) -> None:
    file.write_text("site: a\nfabrics: [{name: pod-0, config: {seed: 5}}]\n")
    with pytest.raises(InvalidInput, match=r"^--seed 5: every fabric of the file has its own seed;"):
        NewTwinOptions(seed=5, site_files=(file,)).sites()


def test_names_are_unique_over_all_files(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "annex.yaml"
    file.write_text("site: campus\nfabrics: [{name: pod-0}]\n")
    other.write_text("site: annex\nfabrics: [{name: pod-0}]\n")
    with pytest.raises(InvalidInput, match=r"^fabric pod-0: given 2 times; names are unique in a twin$"):
        NewTwinOptions(site_files=(file, other)).sites()
    with pytest.raises(InvalidInput, match=r"^site campus: given 2 times; names are unique in a twin$"):
        NewTwinOptions(site_files=(file, file)).sites()


def test_an_empty_kind_is_none() -> None:
    with pytest.raises(
        InvalidInput, match=r"^--kind '': no such kind of fabric; must be one of superpod, stat"
    ):
        NewTwinOptions(kind="").sites()
    assert all(isinstance(plan, SitePlan) for plan in NewTwinOptions().sites())


def test_multi_pod_jobs_need_a_network_that_joins_all_pods(file: Path) -> None:
    pods = (
        "site: campus\nfabrics:\n  - {name: pod-0, config: {workload: {multipod_share: 0.1}}}\n"
        "  - {name: pod-1}\n"
    )
    file.write_text(pods[: pods.index("  - {name: pod-1}")])
    with pytest.raises(
        InvalidInput,
        match=r"workload.multipod_pods: 2 is not allowed; site campus has 1 pod; must be at most 1$",
    ):
        NewTwinOptions(site_files=(file,)).sites()
    network = "  - {name: dcn-0, kind: dcn, config: {network: {blocks: [{pod: pod-0}, {pod: POD}]}}}\n"
    file.write_text(pods)
    with pytest.raises(
        InvalidInput,
        match=r"^pod-0: workload.multipod_share: 0.1 is not allowed: site campus has no datacenter network "
        r"that joins its pods pod-0, pod-1; must be one pod$",
    ):
        NewTwinOptions(site_files=(file,)).sites()
    file.write_text(f"{pods}  - {{name: pod-2}}\n{network.replace('POD', 'pod-2')}")
    with pytest.raises(
        InvalidInput, match=r": pod-1 is attached to no block of the datacenter network of site campu"
    ):
        NewTwinOptions(site_files=(file,)).sites()
    for more, why in (
        (", customer: b", "they belong to different customers"),
        (", generation: 800, modules: cwdm8-bidi", "their modules use different wavelength grids"),
    ):
        file.write_text(pods + network.replace("POD", f"pod-1{more}"))
        with pytest.raises(
            InvalidInput,
            match=r"^pod-0: workload.multipod_share: 0.1 is not allowed: pod-0 and pod-1 are attached to "
            rf"dcn-0/block-0 and dcn-0/block-1, which cannot be joined: {why}; must be one pod$",
        ):
            NewTwinOptions(site_files=(file,)).sites()
    file.write_text(pods + network.replace("POD", "pod-1"))
    assert NewTwinOptions(site_files=(file,)).sites()[0].site == "campus"


@pytest.mark.parametrize(
    ("kind", "names"),
    [("superpod", ["pod-0", "pod-1"]), ("static-pod", ["pod-0", "pod-1"]), ("dcn", ["dcn-0", "dcn-1"])],
)
def test_fabrics_without_a_name_are_named_after_their_kind(kind: str, names: list[str]) -> None:
    assert [(plan.site, *plan.fabrics) for plan in NewTwinOptions(2, kind).sites()] == [
        (name, name) for name in names
    ]
