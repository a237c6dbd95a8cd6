"""Availability in closed form: fabrics, goodput, placement, repair crews."""

# %% How often do all OCSes of a superpod work, by kind of module?
from lightwave import availability

for kind in ("cwdm4-duplex", "cwdm4-bidi", "cwdm8-bidi"):
    print(f"{kind}: {availability.fabric(0.999, kind=kind):.3f}")

# %% The share that can be promised to slices of 1,024 chips, with OCSes and without?
for host in (0.99, 0.995, 0.999):
    switched, static = (
        availability.goodput(host, 1024, fabric).goodput for fabric in ("reconfigurable", "static")
    )
    print(f"hosts of {host:.1%}: {switched:.0%} reconfigurable, {static:.0%} static")

# %% How probable is it that a slice of N cubes can be placed?
curve = availability.placement_curve(0.97, 0.9988)
for cubes in (16, 48, 60):
    point = curve[cubes - 1]
    print(f"{cubes} cubes: {point.with_fault_routing:.4f}, {point.without_fault_routing:.4f} without routing")

# %% 1,024 hosts that fail once in 500 days, repaired in two: how many crews?
for crews in (2, 4, 6, 8):
    steady = availability.machine_repair(1024, crews, 1 / 500, 1 / 2)
    print(f"{crews} crews: {steady.availability:.4f}, {steady.mean_wait:.2f} days of wait for one")

# %% One host over a week, from new: mean share of time that it is up
renewal = availability.AlternatingRenewal(mean_up=500, mean_down=2)
print(f"{renewal.interval_availability(7):.5f}, in the long run {renewal.availability:.5f}")
