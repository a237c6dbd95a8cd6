"""`lightwave live skip`: let a service skip the message on which it raises.

The sequencer records the skip on the log, so every replay skips the message as well."""

import json

from ops.live.settings import LiveSettings
from schemas.files.operations_log import SkipOrdered
from services.fabric_kinds import services_of
from shared.basics.errors import NotFound, OperationFailed
from shared.runtimes.live.twin_record import read_twin
from shared.runtimes.operations_log import OperationsLog, local_person, new_operation
from shared.storage.store.fabric_registry import registered_fabrics, services_in_partition
from shared.storage.store.state_store import OutboxTrim


def skip_message(settings: LiveSettings, fabric: str, operations: OperationsLog) -> str:
    """Order the skip; returns a sentence. Raises NotFound if no service has stopped on a message of this
    fabric."""
    store = settings.store()
    store.check()
    read_twin(store)
    fabrics = store.fabrics()
    if fabric not in fabrics:
        raise NotFound(f"fabric {fabric!r}: no such fabric; must be one of {', '.join(fabrics)}")
    partition = fabrics[fabric].partition
    values = store.values(partition)
    for service in services_in_partition(registered_fabrics(values), services_of):
        stopped = json.loads(values.get(f"stopped:{service}", "{}"))
        if stopped.get("fabric") != fabric:
            continue
        message_id = str(stopped["message_id"])
        if message_id.startswith("sequencer@"):
            raise OperationFailed(
                f"{message_id}: the first message of {fabric} cannot be skipped: {stopped['sentence']}"
            )
        order = SkipOrdered(fabric=fabric, service=service, message=message_id)
        operations.append(new_operation(order, local_person()))
        store.trim(OutboxTrim(partition, fields={f"skip:{service}": message_id}))
        return f"{service} of {fabric} skips {message_id}; it raised: {stopped['sentence']}"
    raise NotFound(f"fabric {fabric}: no service has stopped on a message of it")
