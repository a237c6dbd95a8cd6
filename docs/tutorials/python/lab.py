"""Run a superpod in the lab, and look at what came of it."""

# %% Ten days of a pod of sixteen cubes whose hosts fail often, after two that do not count
import lightwave

PARAMETERS = {"pod.cubes": 16, "failures.host_per_day": 0.01, "repairs.technicians": 2}
run = lightwave.lab(days=10, warm_up_days=2, seed=7, parameters=PARAMETERS)
for name in ("goodput", "utilisation", "cube_availability", "queue_h_p95"):
    print(f"{name}: {run.figures[name]:.3f} {lightwave.measures()[name].unit}")

# %% The same seed is the same run, message for message
again = lightwave.lab(days=10, warm_up_days=2, seed=7, parameters=PARAMETERS)
print("the same:", again.log_sha256 == run.log_sha256)
print(f"{run.messages:,} messages, log {run.log_sha256[:12]}; repeat: {run.repeat}")

# %% With an OCS that fails for six hours; of one run each, so no answer yet: docs/python/sweep.py
struck = lightwave.lab(
    days=10, warm_up_days=2, seed=7, parameters=PARAMETERS, faults=["ocs:pod-0/ocs-17@5d+6h"]
)
for one in (run, struck):
    report = one.reports[0]
    print(report["faults"]["ocs"], report["slices"]["completed"], f"{one.figures['goodput']:.4f}")

# %% What a parameter means, where its default comes from, and what is said of a slip
technicians = next(one for one in lightwave.parameters() if one.name == "repairs.technicians")
print(technicians.default, technicians.unit, technicians.meaning, technicians.source, sep="; ")
try:
    lightwave.lab(parameters={"repairs.technician": 2})
except lightwave.InvalidInput as error:
    print(error)
