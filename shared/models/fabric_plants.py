"""The plant of each kind of fabric, and checks of configurations against it."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from schemas.body import Model
from schemas.config.dcn import DcnConfig, DemandConfig, JobDemandConfig
from schemas.config.pods import AnyPodConfig, FabricConfig, SuperpodConfig
from schemas.config.workload_mix import parse_mix
from schemas.name_parts import fabric_part
from schemas.names import Shape
from shared.basics.errors import InvalidInput
from shared.models.faults.fault_kinds import check_severity, fault_target
from shared.models.network.blocks import NetworkLayout as Network
from shared.models.network.blocks import attached_blocks, network_of, why_not_joined
from shared.models.network.job_rates import PAIR_MAX_MBPS, checkpoint_mbps, input_read_mbps, ring_mbps
from shared.models.network.network_plant import network_plant
from shared.models.ocs_technologies import TECHNOLOGIES, check_strays, ocs_technology
from shared.models.plant.plant_format import Plant
from shared.models.static_pod import boxes
from shared.models.static_pod.static_pod_plant import plant_of_static_pod
from shared.models.superpod import shapes
from shared.models.superpod.superpod_plant import plant_of_superpod
from shared.models.superpod.wiring import SPARE_PORTS, STRANDS

Pair = tuple[int, int]
"""The numbers of two blocks: from, to."""
PLANTS: dict[str, Callable[[Any], Plant]] = {
    "superpod": plant_of_superpod,
    "static-pod": plant_of_static_pod,
    "dcn": network_plant,
}
"""Kind of fabric → function from its configured hardware to its plant."""


def plant_of(kind: str, hardware: Model) -> Plant:
    """The plant of a fabric of this kind; the same object for the same hardware."""
    return PLANTS[kind](hardware)


def check_slice_on_fixed_links(shape: Shape, twisted: bool, _cubes: int) -> None:
    """InvalidInput unless an empty static pod can run such a slice."""
    boxes.check_static_shape(shape, twisted)


SLICE_CHECKS: dict[str, Callable[[Shape, bool, int], None]] = {
    "superpod": shapes.check_shape,
    "static-pod": check_slice_on_fixed_links,
}
"""Kind of fabric → check of a slice for a pod of this number of cubes."""


def check_slice(kind: str, shape: Shape, twisted: bool, cubes: int) -> None:
    """InvalidInput unless an empty pod of this kind and size can run such a slice."""
    SLICE_CHECKS[kind](shape, twisted, cubes)


def check_demand(config: FabricConfig) -> None:
    """InvalidInput unless an empty fabric can satisfy its configured demand.

    Checks the slices of the mix and of the recorded trace, the blocks of a network, the traffic of jobs, and
    recorded faults.
    """
    CONFIG_CHECKS[config.kind](config)
    check_faults(config)


def check_faults(config: FabricConfig) -> None:
    """InvalidInput, with the first wrong row, unless the fabric has the parts of its recorded faults. Whether
    these are of this fabric is checked when they begin: a configuration does not know the fabric's name."""
    if not config.faults:
        return
    plant = plant_of(config.kind, config.hardware)
    technology = config.pod_ocs.technology if config.pod_ocs is not None else None
    for n, row in enumerate(config.faults):
        try:
            fault_target(row.kind, row.target, fabric_part(row.target), plant)
            check_severity(row.kind, row.severity, row.onset_us)
            check_strays(row.kind, technology)
        except InvalidInput as error:
            raise InvalidInput(f"faults.{n} (begin_us {row.begin_us}): {error}") from None


def check_superpod(config: SuperpodConfig) -> None:
    """InvalidInput unless the OCSes have enough ports and an empty pod can run its workload."""
    check_ocs(config)
    check_workload(config)


def check_workload(config: AnyPodConfig) -> None:
    """InvalidInput unless an empty pod can run the slices of its mix and of its recorded trace."""
    check_mix(config.workload.mix, config.pod.cubes)
    check_trace(config)


def check_ocs(config: SuperpodConfig) -> None:
    """InvalidInput unless each side of an OCS has a port for every module of the pod, and the spares.

    A Palomar grows with its pod.
    """
    technology, cubes = ocs_technology(config.ocs.technology), config.pod.cubes
    needed = STRANDS * cubes + SPARE_PORTS
    if technology.name != "palomar" and needed > technology.ports:
        fit = [one.name for one in TECHNOLOGIES.values() if one.name == "palomar" or one.ports >= needed]
        raise InvalidInput(
            f"ocs.technology: {technology.name} has {technology.ports} ports per side, but {cubes} cubes "
            f"need {needed} including {SPARE_PORTS} spares; must be one of {', '.join(fit)}, or "
            f"pod.cubes must be at most {(technology.ports - SPARE_PORTS) // STRANDS}"
        )


def check_network(config: DcnConfig) -> None:
    """InvalidInput, with block and field, unless the network can be built and can carry its configured
    demand."""
    try:
        network = network_of(config.network)
    except InvalidInput as error:
        raise InvalidInput(f"network: {error}") from None
    for n, name in enumerate(config.demand.storage):
        try:
            network.number(name)
        except InvalidInput as error:
            raise InvalidInput(f"demand.storage.{n}: {error}") from None
        if name in config.demand.storage[:n]:
            raise InvalidInput(f"demand.storage.{n}: {name} is named twice; must be named once")
    sent = dict[Pair, float]()
    for n, job in enumerate(config.demand.jobs):
        _check_job(network, config.demand, job, f"demand.jobs.{n}", sent)


def _check_job(
    network: Network, demand: DemandConfig, job: JobDemandConfig, who: str, sent: dict[Pair, float]
) -> None:
    """InvalidInput unless the job's pods are attached to blocks and its traffic has a legal destination.

    Its traffic, added to what other jobs have `sent`, must stay within the limit for a pair of blocks.
    """
    blocks = attached_blocks(network, job.pods, who)
    for pair, mbps in _job_flows(network, demand, job, blocks, who):
        one, other = (network.blocks[number] for number in pair)
        if one is other or not mbps:
            continue
        if not network.may_join[pair]:
            raise InvalidInput(f"{who}: {one.name} cannot send to {other.name}: {why_not_joined(one, other)}")
        sent[pair] = sent.get(pair, 0.0) + mbps
        if sent[pair] > PAIR_MAX_MBPS:
            raise InvalidInput(
                f"{who}: {one.name} would send {sent[pair]:.3g} Mb/s to {other.name}; must be at most "
                f"{PAIR_MAX_MBPS:,} in total (chips, step_s, gradient_gb, checkpoint_gb, checkpoint_every_s, "
                "input_mbps)"
            )


def _job_flows(
    network: Network, demand: DemandConfig, job: JobDemandConfig, blocks: list[int], who: str
) -> Iterator[tuple[Pair, float]]:
    """((from, to), Mb/s) of all that a job sends from block to block."""
    stores = [network.number(name) for name in demand.storage]
    if not stores and (job.checkpoint_gb > 0.0 or job.input_mbps > 0.0):
        raise InvalidInput(f"{who}: the job writes or reads, but demand.storage is empty; must name blocks")
    for block, store in product(blocks, stores):
        yield (
            (block, store),
            checkpoint_mbps(len(blocks), job.checkpoint_gb, job.checkpoint_every_s, len(stores)),
        )
        yield (store, block), input_read_mbps(job.chips, job.input_mbps, len(stores))
    around = ring_mbps(len(blocks), job.gradient_gb, job.step_s)
    for n, block in enumerate(blocks):
        for other in (blocks[n - 1], blocks[(n + 1) % len(blocks)]):
            yield (block, other), 0.5 * around


def check_mix(mix: str, cubes: int) -> None:
    """InvalidInput unless every shape of a mix is legal and at least one fits a pod of this many cubes.

    A mix is the same for every kind and size of pod; each pod leaves out shapes that are too large.
    """
    wanted = parse_mix(mix)
    try:
        for shape, twisted, _ in wanted:
            if not shapes.is_legal(shape, twisted):
                shapes.check_shape(shape, twisted, cubes)
    except InvalidInput as error:
        raise InvalidInput(f"workload.mix: {error}") from None
    if wanted and all(shapes.cubes_of(shape) > cubes for shape, _, _ in wanted):
        least = min(shapes.cubes_of(shape) for shape, _, _ in wanted)
        raise InvalidInput(
            f"workload.mix: {mix} is not allowed; the smallest shape takes {least} cubes and the pod has "
            f"{cubes}; at least one shape must fit"
        )


def check_trace(config: AnyPodConfig) -> None:
    """InvalidInput, with the first wrong row, unless an empty fabric can run every slice of its recorded
    trace, and the trace has one."""
    if config.trace is not None and not config.trace:
        raise InvalidInput(
            "trace: is empty; must have one or more requests; for a pod without requests, leave it out and "
            "set workload.enabled to false"
        )
    cubes, fit = config.pod.cubes, set[tuple[Shape, bool]]()
    for n, row in enumerate(config.trace or ()):
        if (row.shape, row.twisted) in fit:
            continue
        try:
            check_slice(config.kind, row.shape, row.twisted, cubes)
        except InvalidInput as error:
            raise InvalidInput(f"trace.{n} (submit_us {row.submit_us}): {error}") from None
        fit.add((row.shape, row.twisted))


CONFIG_CHECKS: dict[str, Callable[[Any], None]] = {
    "superpod": check_superpod,
    "static-pod": check_workload,
    "dcn": check_network,
}
"""Kind of fabric → check of its configuration (`check_demand`)."""
