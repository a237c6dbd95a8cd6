"""What slice shapes can carry, intact and with OCSes down."""

# %% A slice of 128 chips, regular and twisted
from lightwave import topology

for twisted in (False, True):
    found = topology.figures("4x4x8", twisted=twisted)
    print(f"{found.shape} twisted={twisted}: diameter {found.diameter}, mean {found.mean_hops:.3f} hops,")
    print(
        f"  all-to-all {found.all_to_all_throughput:.3f} links a chip, {found.bisection_links} links bisect"
    )

# %% Which shape of 512 chips is best for all-to-all, and which for rings along x?
for traffic in ("all-to-all", "ring:x"):
    best = topology.suggest(512, traffic)[0]
    print(f"{traffic}: {best.shape}{' twisted' if best.twisted else ''}")

# %% An OCS is down: the remaining graph, and a deadlock-free routing table around it
whole, left = topology.figures("4x4x8"), topology.figures("4x4x8", without_ocs=[3])
print(f"{whole.links - left.links} links fewer, {left.all_to_all_gain:.0%} of the all-to-all")
routes = topology.routing("4x4x8", without_ocs=[3])
print(f"{routes.reached} of {routes.pairs} pairs reached, deadlock-free: {routes.deadlock_free}")

# %% The links as arrays, for your own models
links = topology.graph("4x4x8", twisted=True)
print(links.neighbours.shape, "chips by directions; chip 0 is next to", links.neighbours[0].tolist())
