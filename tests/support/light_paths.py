"""An oracle for light paths: it derives them from the commands on the log and shares no code with the
twin."""

from typing import Any

Message = dict[str, Any]
Circuits = dict[tuple[int, int], int]


def circuits(messages: list[Message]) -> Circuits:
    """Return (OCS, North port) → South port of every circuit that passes light once all mirrors have settled.

    A join (d, a, b) is N[2a] → S[2b+1] and N[2b+1] → S[2a] on the OCSes 16·d … 16·d+15. An OCS that is down
    passes no light.
    """
    wanted: Circuits = {}
    down: set[int] = set()
    for message in messages:
        kind, body = message["type"], message["body"]
        if kind in ("OcsDown", "OcsUp"):
            (down.add if kind == "OcsDown" else down.discard)(body["ocs"])
        if kind in ("ConnectCircuits", "DisconnectCircuits"):
            for dimension, a, b in body["joins"]:
                for ocs in range(16 * dimension, 16 * dimension + 16):
                    for north, south in ((2 * a, 2 * b + 1), (2 * b + 1, 2 * a)):
                        if kind == "ConnectCircuits":
                            wanted[ocs, north] = south
                        else:
                            del wanted[ocs, north]
    return {(ocs, north): south for (ocs, north), south in wanted.items() if ocs not in down}


def light_path(made: Circuits, end: str) -> Message:
    """Return the path of a link end's light: its far end, and the ports of both strands."""
    fabric, cube, face, index = end.split("/")
    number, dimension = int(cube.removeprefix("cube-")), "xyz".index(face[1])
    ocs, is_plus = 16 * dimension + int(index), face[0] == "+"
    port = 2 * number if is_plus else 2 * number + 1
    strands: list[Message] = []
    others = set()
    for strand in (0, 1):
        at_north = is_plus == (strand == 0)
        matches = [(n, s) for (at, n), s in made.items() if at == ocs and port == (n if at_north else s)]
        north, south = matches[0] if matches else (port, None) if at_north else (None, port)
        strands.append({"strand": strand, "ocs": f"{fabric}/ocs-{ocs}", "north": north, "south": south})
        others.add(south if at_north else north)
    other = others.pop()
    far = (
        None
        if others or other is None
        else f"{fabric}/cube-{other // 2}/{'-' if is_plus else '+'}{face[1]}/{index}"
    )
    return {"end": end, "far_end": far, "strands": strands}
