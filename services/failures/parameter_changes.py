"""Changes of a running fabric's parameters.

The service `failures` accepts or refuses each change for all services, so that no change is half applied.
Every kind of fabric has this service. All services, including this one, apply the accepted change.
"""

from schemas.config.failures import FailureRates
from schemas.config.parameter import ParameterChange, ParameterSetting
from schemas.config.runtime_parameters import with_settings
from schemas.envelope import Envelope
from schemas.messages.drills import DrillOrder
from schemas.messages.failures import ParametersChanged, ParametersRefused
from schemas.messages.operator import SetParameters
from services.failures.domain_outages import OUTAGE_DOMAINS, changed_outage
from services.failures.hazards import changed_hazard, hazard_classes
from services.failures.state import ChangedParameter, FailuresState, ParameterLease
from shared.engine.service import CausedBy, Output


def on_set_parameters(state: FailuresState, body: SetParameters, message: Envelope) -> list[Output]:
    """Change all of the parameters, or none. The leases of drills on them end: the new values stay."""
    changed = _change(state, body.settings, message.id)
    if isinstance(changed, ParametersChanged):
        for setting in body.settings:
            if state.leases.pop(setting.name, None) is not None:
                state.changed_documents.add(("parameters", state.fabric))
    return [changed]


def on_drill_sets(
    state: FailuresState, order: DrillOrder, body: SetParameters, message: Envelope
) -> list[Output]:
    """Change parameters for a drill, at most until its lease ends. Drills never change the same parameter at
    the same time: each would set it back to a value of the other."""
    for setting in body.settings:
        lease = state.leases.get(setting.name)
        if lease is not None and lease.drill != order.drill:
            why = f"{setting.name}: is changed by {lease.drill} until {lease.ends_us} us"
            return [ParametersRefused(fabric=state.fabric, reason=why)]
    changed = _change(state, body.settings, message.id)
    if isinstance(changed, ParametersChanged):
        for change in changed.changes:
            lease = state.leases.pop(change.name, None)
            was = change.was if lease is None else lease.was
            if change.value != was:
                state.leases[change.name] = ParameterLease(was, order.drill, message.id, order.lease_ends_us)
    return [changed]


def end_leases(state: FailuresState) -> list[Output]:
    """Set back the parameters whose lease is over: their drill has not done so, because its fabric has
    retired."""
    over = {name: lease for name, lease in state.leases.items() if lease.ends_us <= state.now_us}
    emitted: list[Output] = []
    for cause in dict.fromkeys(lease.cause for lease in over.values()):
        names = [name for name, lease in over.items() if lease.cause == cause]
        settings = tuple(ParameterSetting(name=name, value=over[name].was) for name in names)
        emitted.append(CausedBy(cause, _change(state, settings, cause)))
        for name in names:
            del state.leases[name]
    return emitted


def _change(
    state: FailuresState, settings: tuple[ParameterSetting, ...], cause: str
) -> ParametersChanged | ParametersRefused:
    try:
        current_config, changes = with_settings(state.current_config, settings)
    except ValueError as error:
        return ParametersRefused(fabric=state.fabric, reason=str(error))
    if changes:
        rates = state.config
        state.change_config(current_config)
        state.changes += 1
        for change in changes:
            _record_change(state, change, cause)
        state.changed_documents.add(("parameters", state.fabric))
        _apply_rates(state, (rates, state.config))
    return ParametersChanged(changes=changes)


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
