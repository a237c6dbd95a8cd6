"""Link budgets, receiver sensitivity, and a whole pod qualified."""

# %% A link through an OCS that loses 1.5 dB, element by element
from lightwave import optics

found = optics.budget(1.5)
for step in found.steps:
    print(f"{step.element:24} {step.loss_db or 0:5.2f} dB  {step.power_dbm:6.2f} dBm")
worst = found.worst
print(f"worst lane {worst.lane}: ber {worst.ber:.1e}, {worst.margin_orders:.1f} orders below the threshold")

# %% A dirty connector: how much may it take before the worst lane fails?
for excess_db in (0.0, 1.0, 2.0, 3.0, 4.0):
    lane = optics.budget(1.5, excess_db=excess_db).worst
    print(f"{excess_db:.0f} dB: margin {lane.margin_orders:+.1f} orders")

# %% The cost of interference to a receiver, and the gain of mitigation
for mpi_db in (-40, -36, -32, -30):
    plain, aided = (optics.sensitivity(mpi_db, mitigation=aid) for aid in (False, True))
    print(f"MPI {mpi_db} dB: {plain:.2f} dBm, with mitigation {aided:.2f} dBm")

# %% Two generations of modules on one link, and two that are incompatible
print(optics.agree("cwdm4-bidi-400G", "cwdm4-bidi-200G"))
print(optics.agree("cwdm4-bidi-400G", "cwdm4-duplex-400G").reason)

# %% Every pairing of link ends that a pod of eight cubes can make, as manufactured from a seed
pod = optics.qualify(seed=7, cubes=8)
print(f"{pod.log10_ber.size:,} pairings, {pod.pairings_above} beyond the threshold,", end=" ")
print(f"median margin {pod.median_margin_orders:.1f} orders")
