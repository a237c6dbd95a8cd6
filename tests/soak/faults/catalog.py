"""All fault actions of a soak. Seconds are the duration of a fault that does not end by itself."""

from tests.soak.fault_plan import FaultAction
from tests.soak.faults import foreign_records, processes, rebuilds, requests, servers, upgrade

SESSION_TIMEOUT_S = 10.0
"""Time after which Kafka reassigns the partitions of a silent worker."""

FAULT_ACTIONS: tuple[FaultAction, ...] = (
    FaultAction("worker", "kill", processes.kill),
    FaultAction("worker", "restart", processes.restart),
    FaultAction("worker", "pause", processes.pause, (SESSION_TIMEOUT_S + 1.5, SESSION_TIMEOUT_S + 5.0)),
    FaultAction("worker", "hold down", processes.hold_down, (2.0, 15.0)),
    FaultAction("worker", "exhaust files", processes.exhaust_files, (2.0, 15.0)),
    FaultAction("worker", "name again", processes.namesake, exclusive=True),
    FaultAction("sequencer", "kill", processes.kill),
    FaultAction("sequencer", "restart", processes.restart),
    FaultAction("sequencer", "pause", processes.pause, (1.0, 15.0)),
    FaultAction("sequencer", "hold down", processes.hold_down, (2.0, 15.0)),
    FaultAction("sequencer", "double", processes.double_sequencer, (4.0, 12.0)),
    FaultAction("sequencer", "exhaust files", processes.exhaust_files, (2.0, 15.0)),
    FaultAction("sequencer", "name again", processes.namesake, exclusive=True),
    FaultAction("gateway", "kill", processes.kill),
    FaultAction("gateway", "restart", processes.restart),
    FaultAction("gateway", "pause", processes.pause, (1.0, 15.0)),
    FaultAction("gateway", "hold down", processes.hold_down, (2.0, 15.0)),
    FaultAction("gateway", "delete copy", processes.delete_copy, (0.0, 4.0)),
    FaultAction("gateway", "exhaust files", processes.exhaust_files, (2.0, 15.0)),
    FaultAction("gateway", "name again", processes.namesake, exclusive=True),
    FaultAction("historian", "kill", processes.kill),
    FaultAction("historian", "restart", processes.restart),
    FaultAction("historian", "pause", processes.pause, (10.0, 30.0)),
    FaultAction("historian", "hold down", processes.hold_down, (2.0, 15.0)),
    FaultAction("kafka", "kill", servers.kill_server, (0.0, 3.0)),
    FaultAction("kafka", "restart", servers.restart_server, (0.0, 3.0)),
    FaultAction("kafka", "pause", servers.pause_server, (2.0, 20.0)),
    FaultAction("kafka", "refuse writes", servers.refuse_for_a_while, (5.0, 25.0)),
    FaultAction("kafka", "fill disk", servers.fill_disk, (2.0, 8.0)),
    FaultAction("kafka", "forget group", servers.forget_group, exclusive=True),
    FaultAction("redis", "kill", servers.kill_server, (0.0, 3.0), loses_data=True),
    FaultAction("redis", "restart", servers.restart_server, (0.0, 3.0)),
    FaultAction("redis", "pause", servers.pause_server, (1.0, 20.0)),
    FaultAction("redis", "roll back", servers.roll_back, (0.0, 3.0), loses_data=True),
    FaultAction("redis", "empty", servers.empty, (0.0, 4.0), exclusive=True, loses_data=True),
    FaultAction("redis", "out of memory", servers.run_out_of_memory, (2.0, 8.0), exclusive=True),
    FaultAction("redis", "fill disk", servers.fill_disk, (2.0, 8.0)),
    FaultAction("redis", "cut connections", servers.cut_connections, (2.0, 10.0), exclusive=True),
    FaultAction("redis", "change settings", servers.change_settings, (2.0, 15.0), exclusive=True),
    FaultAction("processes", "kill some", processes.kill_some),
    FaultAction("processes", "kill all workers", processes.kill_workers),
    FaultAction(
        "processes", "kill everything", processes.kill_everything, (0.0, 3.0), exclusive=True, loses_data=True
    ),
    FaultAction("processes", "pause all of a kind", processes.pause_kind, (10.0, 20.0)),
    FaultAction("processes", "restart all of a kind", processes.restart_kind),
    FaultAction(
        "processes", "stop kafka at join", processes.stop_kafka_at_join, (25.0, 25.0), exclusive=True
    ),
    FaultAction("processes", "pause servers", servers.pause_servers, (10.0, 25.0), exclusive=True),
    FaultAction("processes", "restart servers", servers.restart_servers, (0.0, 3.0), exclusive=True),
    FaultAction("log", "strays", foreign_records.write_malformed_records, exclusive=True),
    FaultAction(
        "log", "open transaction", foreign_records.leave_transaction_open, (0.0, 10.0), exclusive=True
    ),
    FaultAction("requests", "flood", requests.flood, (3.0, 6.0)),
    FaultAction("requests", "change clock", requests.change_clock, exclusive=True),
    FaultAction("twin", "rebuild", rebuilds.rebuild),
    FaultAction("twin", "kill rebuild", rebuilds.kill_rebuild, (0.0, 3.0), exclusive=True),
    FaultAction("twin", "rebuild twice", rebuilds.rebuild_twice, exclusive=True),
    FaultAction("twin", "init again", rebuilds.init_again, (0.0, 0.5), exclusive=True),
    FaultAction("twin", "kill init", rebuilds.kill_init, (0.0, 1.0), exclusive=True),
)

UPGRADE = FaultAction("twin", "upgrade", upgrade.upgrade, (0.0, 3.0), exclusive=True)
"""In the middle of a soak, once. It is not drawn: there is one next version."""
