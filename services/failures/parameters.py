"""By which parameters a fabric goes while it lives.

One service says yes or no for all of them, so that nothing is half done: this one, which every kind of fabric
has. All others go by what it says, and so does it itself.
"""

from schemas.config import AnyPodConfig
from schemas.config_dcn import DcnConfig
from schemas.envelope import Envelope
from schemas.failures import ParametersChanged, ParametersRefused
from schemas.living import with_settings
from schemas.operator import SetParameters
from schemas.parameter import Change
from services.failures.domains import DOMAINS, changed_outage
from services.failures.hazards import CLASSES, changed_hazard
from services.failures.state import FailuresState, Parameter, rates_of
from shared.engine.service import Output


def on_set_parameters(state: FailuresState, body: SetParameters, message: Envelope) -> list[Output]:
    """All of the values, or none and why."""
    try:
        present, changes = with_settings(state.present, body.settings)
    except ValueError as error:
        return [ParametersRefused(fabric=state.fabric, reason=str(error))]
    assert isinstance(present, AnyPodConfig | DcnConfig)  # noqa: S101 -- of the kind that it was of
    if changes:
        state.present = present
        state.changes += 1
        for change in changes:
            _note(state, change, message.id)
        state.touched.add(("parameters", state.fabric))
        _go_by(state, present)
    return [ParametersChanged(changes=changes)]


def _note(state: FailuresState, change: Change, cause: str) -> None:
    before = state.parameters.pop(change.name, None)
    began = change.was if before is None else before.began
    if change.value != began:
        state.parameters[change.name] = Parameter(change.value, began, state.now_us, cause)


def _go_by(state: FailuresState, present: AnyPodConfig | DcnConfig) -> None:
    """Things break at other rates from now on."""
    rates = state.config, rates_of(present)
    if rates[0] == rates[1]:
        return
    state.config = rates[1]
    for kind in CLASSES:
        of = state.draws, state.fabric, kind, rates, state.plant, state.hazards[kind]
        found = changed_hazard(*of, state.now_us, state.changes, state.levels.get(kind))
        state.hazards[kind] = state.within(found)
    for domain in DOMAINS:
        drawn = state.draws.own, state.fabric, domain, rates, state.plant, state.hazards[domain]
        state.hazards[domain] = state.within(changed_outage(*drawn, state.now_us, state.changes))
