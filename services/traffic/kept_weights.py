"""Why the weights of a network are not solved again although new ones could lower its largest use."""

from dataclasses import dataclass

from services.traffic.state import TrafficState
from shared.basics.field_text import format_percent
from shared.basics.time_format import format_time
from shared.models.dcn.routing.carried_traffic import PPM


@dataclass(frozen=True, slots=True)
class WeightsState:
    """The weights of a network and the load of its fullest trunk: what decides when weights are solved again.

    `at_us` is the time of the load, in microseconds like `solved_us` and `next_solve_us`. `use` is a
    fraction of the capacity, `bound` a lower bound of it for any weights; above `solve_above` a change of the
    demand alone leads to a solution.
    """

    at_us: int
    solved_us: int | None
    next_solve_us: int | None
    use: float
    bound: float
    solve_above: float


def weights_reason(state: TrafficState) -> str | None:
    """Why weights that could lower the largest use are not solved now; None if none could, or before the
    first demand."""
    if state.last is None:
        return None
    return kept_weights_reason(
        WeightsState(
            at_us=state.at_us,
            solved_us=state.solved_us,
            next_solve_us=state.next_solve_us,
            use=state.last.use_ppm / PPM,
            bound=state.last.bound_ppm / PPM,
            solve_above=state.solve_above,
        )
    )


def kept_weights_reason(weights: WeightsState) -> str | None:
    """The reason in a sentence; None if weights are those of the current demand and trunks, or if no weights
    can lower the largest use."""
    if weights.solved_us is None or weights.use <= weights.bound:
        return None
    if weights.next_solve_us is not None:
        return f"solved again at {format_time(weights.next_solve_us)}: demand or trunks have changed"
    if weights.solved_us == weights.at_us:
        return None
    return (
        f"solved last at {format_time(weights.solved_us)}; solved again when trunks change or the fullest "
        f"trunk is above {format_percent(weights.solve_above)}, and it is at {format_percent(weights.use)}"
    )
