"""Use a running twin: start one with `lightwave up --speed 600 --seed 7` in another terminal."""

# %% List the objects
import lightwave

twin = lightwave.connect()  # LIGHTWAVE_URL, or http://127.0.0.1:8080
for fabric in twin.fabrics():
    print(f"{fabric.name}: {fabric.chips_used} of {fabric.chips} chips in use, {fabric.ocs} OCSes")
for row in twin.slices(state="running")[:5]:
    print(f"{row.name}: {row.shape} for {row.owner}, {row.tier}")

# %% Request a slice, and explain its state
receipt = twin.request("4x4x8", owner="team-7", duration_s=6 * 3600)
mine = next(name for event in receipt.outcome for name in event.about if "/slice-" in name)
print(receipt.status, [event.type for event in receipt.outcome])
print(twin.explain(mine).state)

# %% Break an OCS, and follow the effects until the fault ends
beginning = twin.fabric("pod-0").position
fault = twin.inject("ocs", "pod-0/ocs-17", duration_s=1800, comment="a drill")
name = next(event.about[0] for event in fault.outcome if event.type == "FaultBegan")
for event in twin.subscribe(after=f"pod-0:{beginning - 1}"):
    if event.type in ("FaultBegan", "OcsDown", "SliceDegraded", "SliceRecovering", "OcsUp", "FaultEnded"):
        print(event.position, event.type, event.text)
    if event.type == "FaultEnded" and name in event.about:
        break
seen = event.position

# %% The causes, back to the request; and continue where the last loop ended
for cause in twin.why(event.id):
    print(cause.type, cause.text)
later = next(twin.subscribe(after=seen, ticks=True))
print("then", later.position, later.type)

# %% Search the past: when was the OCS down first, what else differs since then, what happened to it
search = twin.bisect("ocs.pod-0/ocs-17.state == down")
for change in search.changes:
    print("true since", change.event.id, change.event.at_us)
for difference in twin.diff("-30m", kind="ocs")[:3]:
    print(difference.name, difference.field, difference.before, difference.after)
print([event.type for event in twin.history("ocs-17", limit=5)])
print(twin.at("-30m").ocs("pod-0/ocs-17").state)

# %% Change a parameter from now on
print(twin.set("pod-0", {"failures.host_per_day": 0.002}).status)

# %% Run faster; and an error
print(twin.set_speed(1200).speed)
try:
    twin.cube("pod-0/cube-99")
except lightwave.NotFound as error:
    print(error)
