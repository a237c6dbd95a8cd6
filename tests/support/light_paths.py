"""An oracle for light paths: by hand from the commands in the log, with no help from the code it judges."""

from typing import Any

Message = dict[str, Any]
Circuits = dict[tuple[int, int], int]


def circuits(messages: list[Message]) -> Circuits:
    """(OCS, North port) → South port of every circuit that light passes once all mirrors have settled.

    A join (d, a, b) is N[2a+s] → S[2b+s] on the OCSes 16·d … 16·d+15, for both strands s; an OCS that is down
    passes nothing.
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
                    for strand in (0, 1):
                        if kind == "ConnectCircuits":
                            wanted[ocs, 2 * a + strand] = 2 * b + strand
                        else:
                            del wanted[ocs, 2 * a + strand]
    return {(ocs, north): south for (ocs, north), south in wanted.items() if ocs not in down}


def light_path(made: Circuits, end: str) -> Message:
    """Where the light of a link end goes: its far end, and the ports of both strands."""
    fabric, cube, face, index = end.split("/")
    number, dimension = int(cube.removeprefix("cube-")), "xyz".index(face[1])
    ocs, is_north = 16 * dimension + int(index), face[0] == "+"
    strands: list[Message] = []
    for strand in (0, 1):
        port = 2 * number + strand
        found = [(n, s) for (at, n), s in made.items() if at == ocs and port == (n if is_north else s)]
        north, south = found[0] if found else (port, None) if is_north else (None, port)
        strands.append({"strand": strand, "ocs": f"{fabric}/ocs-{ocs}", "north": north, "south": south})
    other = strands[0]["south" if is_north else "north"]
    dark = any(None in (strand["north"], strand["south"]) for strand in strands)
    far = None if dark else f"{fabric}/cube-{other // 2}/{'-' if is_north else '+'}{face[1]}/{index}"
    return {"end": end, "far_end": far, "strands": strands}
