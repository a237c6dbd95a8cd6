"""What the readings of a link end show that should not be there, in few words."""

from collections.abc import Callable

from schemas.transceivers import EndLook

WORDS: dict[str, Callable[[float], str]] = {
    "rx_db": lambda db: f"received {db:+.1f} dB",
    "tx_db": lambda db: f"launched {db:+.1f} dB",
    "snr_db": lambda db: f"SNR {db:+.1f} dB",
    "mpi_db": lambda db: f"MPI {db:+.1f} dB",
    "bias": lambda share: f"bias {100 * share:+.0f}%",
    "warmer_k": lambda kelvin: f"{kelvin:+.1f} K",
    "spread_db": lambda db: f"lanes scatter by {db:.1f} dB",
    "age_min": lambda minutes: f"readings {minutes:.0f} min old",
    "outages": lambda times: f"{times:.0f} outages in a day",
}
"""Field of EndLook → what is said of it."""
BOUNDS = {
    "rx_db": 0.4,
    "tx_db": 0.4,
    "snr_db": 0.6,
    "mpi_db": 2.0,
    "bias": 0.06,
    "warmer_k": 4.0,
    "spread_db": 1.0,
    "age_min": 10.0,
    "outages": 2.5,
}
"""From how far off on it stands out: as those who look have it (`shared.models.telemetry.looks`), which is
physics that the gateway does not import; a test holds both equal."""
EITHER_WAY = frozenset({"rx_db", "tx_db", "snr_db"})
"""Those that stand out downwards, too."""


def looked_at(look: EndLook) -> str:
    """What stands out at an end, of both strands the worse one; nothing where it is told only beside the
    other end of its link."""
    if look.silent:
        return "silent"
    found = ["launches nothing"] if None in look.tx_db else []
    for name, bound in BOUNDS.items():
        value = getattr(look, name)
        amounts = [one for one in (value if isinstance(value, tuple) else (value,)) if one is not None]
        size: Callable[[float], float] = abs if name in EITHER_WAY else float
        most = max(amounts, key=size, default=0.0)
        if size(most) > bound:
            found.append(WORDS[name](most))
    return ", ".join([*found, *(["readings stand still"] if look.unchanged else [])])
