"""Run a superpod in the lab, and read its figures."""

# %% Ten days of a pod of sixteen cubes whose hosts fail often, after a warm-up of two days
import lightwave

PARAMETERS = {"pod.cubes": 16, "failures.host_per_day": 0.01, "repairs.technicians": 2}
run = lightwave.lab(days=10, warm_up_days=2, seed=7, parameters=PARAMETERS)
for name in ("goodput", "utilisation", "cube_availability", "queue_h_p95"):
    print(f"{name}: {run.figures[name]:.3f} {lightwave.measures()[name].unit}")

# %% The same seed is the same run, message for message
again = lightwave.lab(days=10, warm_up_days=2, seed=7, parameters=PARAMETERS)
print("the same:", again.log_sha256 == run.log_sha256)
print(f"{run.messages:,} messages, log {run.log_sha256[:12]}; repeat: {run.repeat}")

# %% With an OCS that fails for six hours; one run each is no answer yet: docs/tutorials/python/sweep.py
struck = lightwave.lab(
    days=10, warm_up_days=2, seed=7, parameters=PARAMETERS, faults=["ocs:pod-0/ocs-17@5d+6h"]
)
for one in (run, struck):
    report = one.reports[0]
    print(report["faults"]["ocs"], report["slices"]["completed"], f"{one.figures['goodput']:.4f}")

# %% The meaning of a parameter, the source of its default, and the error for a typo
technicians = next(one for one in lightwave.parameters() if one.name == "repairs.technicians")
print(technicians.default, technicians.unit, technicians.meaning, technicians.source, sep="; ")
try:
    lightwave.lab(parameters={"repairs.technician": 2})
except lightwave.InvalidInput as error:
    print(error)
