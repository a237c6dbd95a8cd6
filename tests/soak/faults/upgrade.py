"""The upgrade of a twin in the course of a soak, as docs/how-to/run-live.md describes it.

All processes stop, the next version takes over the states, and all processes start again in that version."""

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from tests.soak.fault_plan import PlannedFault
from tests.soak.faults.context import FaultContext, TwinDeviated
from tests.soak.faults.rebuilds import kill_after
from tests.soak.final_state import is_quiet
from tests.support.next_version import command, next_version

QUIET_S_MAX = 180.0
"""Time within which services read everything when the clock is paused and no gateway runs."""
AUDIT_S_MAX = 900.0
"""Time for an audit of the first half of a soak."""


def upgrade(context: FaultContext, fault: PlannedFault) -> None:
    """Upgrade the twin to the next version; the upgrade is killed once on its way.

    The version that wrote the first half of the log audits it: the next version cannot. TwinDeviated if the
    twin does not become quiet, or if a command keeps failing."""
    context.expect_stop(True)
    try:
        context.command_until_done("clock", "pause")
        _stop(context, [*context.twin.gateways])  # they would accept more requests
        if not context.wait_until(lambda: is_quiet(context.twin), QUIET_S_MAX):
            raise TwinDeviated(
                f"before the upgrade services did not reach the end of the log in {QUIET_S_MAX:.0f} s: "
                f"{context.twin.words()}"
            )
        _stop(context, [*context.twin.supervisor.names])
        _audit(context)
        _take_over(context, fault)
        context.twin.start_processes()
        context.command_until_done("clock", "resume")
    finally:
        context.expect_stop(False)


def _stop(context: FaultContext, names: list[str]) -> None:
    """SIGTERM, to all of them at once."""
    with ThreadPoolExecutor(max(1, len(names))) as pool:
        for done in [pool.submit(context.twin.supervisor.drop, name, signal.SIGTERM) for name in names]:
            done.result()


def _audit(context: FaultContext) -> None:
    done = context.command("audit", "--live", "-o", "json", kill_after_s=AUDIT_S_MAX)
    if done.code or not json.loads(done.stdout)["clean"]:
        context.problems.append(f"before the upgrade the audit is not clean: {done.stdout[-2_000:]}; {done}")


def _take_over(context: FaultContext, fault: PlannedFault) -> None:
    """The steps of the next version, which all later processes and commands use."""
    twin = context.twin
    version = next_version(twin.folder.parent / "next-version")
    twin.options = replace(twin.options, program=("env", f"PYTHONPATH={version}", *command()))
    kill_after(context, fault.duration_s, "live", "upgrade")
    context.command_until_done("live", "upgrade")
    context.upgraded += [plan.site for plan in twin.options.sites]
