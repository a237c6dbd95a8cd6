"""Changes of a running fabric's parameters.

The service `failures` accepts or refuses each change for all services, so that no change is half applied.
Every kind of fabric has this service. All services, including this one, apply the accepted change.
"""

from schemas.config.failures import FailureRates
from schemas.config.parameter import ParameterChange
from schemas.config.runtime_parameters import with_settings
from schemas.envelope import Envelope
from schemas.messages.failures import ParametersChanged, ParametersRefused
from schemas.messages.operator import SetParameters
from services.failures.domain_outages import OUTAGE_DOMAINS, changed_outage
from services.failures.hazards import changed_hazard, hazard_classes
from services.failures.state import ChangedParameter, FailuresState
from shared.engine.service import Output


def on_set_parameters(state: FailuresState, body: SetParameters, message: Envelope) -> list[Output]:
    """Change all of the parameters, or none."""
    try:
        current_config, changes = with_settings(state.current_config, body.settings)
    except ValueError as error:
        return [ParametersRefused(fabric=state.fabric, reason=str(error))]
    if changes:
        rates = state.config
        state.change_config(current_config)
        state.changes += 1
        for change in changes:
            _record_change(state, change, message.id)
        state.changed_documents.add(("parameters", state.fabric))
        _apply_rates(state, (rates, state.config))
    return [ParametersChanged(changes=changes)]


def _record_change(state: FailuresState, change: ParameterChange, cause: str) -> None:
    before = state.parameters.pop(change.name, None)
    commissioned = change.was if before is None else before.commissioned
    if change.value != commissioned:
        state.parameters[change.name] = ChangedParameter(change.value, commissioned, state.now_us, cause)


def _apply_rates(state: FailuresState, rates: tuple[FailureRates, FailureRates]) -> None:
    """Apply changed failure rates, given (before, after), from now on."""
    if rates[0] == rates[1]:
        return
    for kind in hazard_classes():
        of = state.seeds, state.fabric, kind, rates, state.plant, state.hazards[kind]
        pending = changed_hazard(*of, state.now_us, state.changes, state.levels.get(kind))
        state.hazards[kind] = state.within(pending)
    for domain in OUTAGE_DOMAINS:
        drawn = state.seeds.own, state.fabric, domain, rates, state.plant, state.hazards[domain]
        state.hazards[domain] = state.within(changed_outage(*drawn, state.now_us, state.changes))
