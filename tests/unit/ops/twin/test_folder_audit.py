"""Audit of a log that contains a foreign line, and of the states in a store."""

import pytest

from ops.twin.site_audit import SiteAudit
from schemas.config.pods import SuperpodConfig
from schemas.messages.operator import DrainCube
from schemas.registry import decode
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.engine.site_driver import LabRequest
from shared.engine.state_codec import encode_instance
from tests.support.pods import POD, pod_lab


@pytest.mark.parametrize("at_us", [None, 7])
def test_a_line_that_repeats_a_number_with_other_contents_is_reported(at_us: int | None) -> None:
    """Readers drop the line; no state depends on it."""
    lines: list[bytes] = []
    lab = pod_lab(SuperpodConfig(seed=4), sink=lambda data: lines.extend(data.splitlines()))
    lab.run(US_PER_DAY // 10, [LabRequest(US_PER_HOUR, POD, DrainCube(cube="pod-0/cube-1"), 3)])
    record = [decode(line) for line in lines]
    audit = SiteAudit(
        POD, [POD], {(instance.name, POD): encode_instance(instance) for instance in lab.site.instances}
    )
    request = next(message for message in record if message.type == "DrainCube")
    repeated = request if at_us is None else request.model_copy(update={"at_us": at_us})
    assert all(audit.feed(position, message) for position, message in enumerate([*record, repeated]))
    audit.compare()
    report = audit.report(len(record), len(record) + 1)
    sentence = f"position {len(record)}: expected operator@pod-0/3 as it was before, if at all, found "
    assert (report["requests"], report["states_clean"]) == (1, True)
    assert report["log_clean"] is (at_us is None)
    assert (report["first_difference"] or sentence).startswith(sentence)
