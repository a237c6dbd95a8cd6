"""The report of `lightwave pod qualify`, as JSON or a table."""

from typing import Any

import numpy as np

from ops.report.tables import text_table
from shared.models.optics.link import LinkDesign
from shared.models.optics.qualification import Qualification
from shared.models.superpod.wiring import LinkEnd, link_end

QUANTILES = (0.0, 0.01, 0.1, 0.5, 0.9, 0.99, 1.0)


def qualification_report(result: Qualification, worst: int) -> dict[str, Any]:
    """All figures of a qualification, with the `worst` pairings by name."""
    conditions = result.conditions
    quantiles = np.quantile(result.log10_ber, QUANTILES)
    return {
        "seed": conditions.seed,
        "fabric": conditions.fabric,
        "cubes": conditions.cubes,
        "rate": conditions.design.rate.name,
        "launch_dbm": conditions.design.launched_dbm,
        "circulator": conditions.design.circulator,
        "laser": conditions.design.laser,
        "mitigation": conditions.design.mitigation,
        "soft_fec": conditions.design.soft_fec,
        "return_loss_db": conditions.return_loss_db,
        "ends": result.log10_ber.shape[0],
        "partners": result.log10_ber.shape[1],
        "pairings": result.log10_ber.size,
        "threshold_ber": result.threshold_ber,
        "ber_quantiles": {
            f"{share:g}": 10.0**value for share, value in zip(QUANTILES, quantiles, strict=True)
        },
        "median_margin_orders": result.median_margin_orders,
        "pairings_above": result.pairings_above,
        "share_above": result.pairings_above / result.log10_ber.size,
        "ends_above": result.ends_above,
        "qualified": result.qualified,
        "worst": [pairing_row(result, end, partner) for end, partner in result.worst(worst)],
        "repeat": repeat_command(result),
    }


def pairing_row(result: Qualification, end: int, partner: int) -> dict[str, Any]:
    """One pairing with the names of its two ends, and its worst lane."""
    here = link_end(end)
    there = LinkEnd(partner, here.face ^ 1, here.index)
    log10_ber = float(result.log10_ber[end, partner])
    return {
        "end": here.name(result.conditions.fabric),
        "partner": there.name(result.conditions.fabric),
        "lane": int(result.lane[end, partner]),
        "ber": 10.0**log10_ber,
        "margin_orders": result.threshold_log10 - log10_ber,
        "insertion_loss_db": float(result.insertion_loss_db[end, partner]),
        "received_dbm": float(result.received_dbm[end, partner]),
        "interference_db": float(result.interference_db[end, partner]),
    }


def repeat_command(result: Qualification) -> str:
    """The command that gives the same again."""
    conditions = result.conditions
    words = ["lightwave pod qualify --seed", str(conditions.seed), "--cubes", str(conditions.cubes)]
    words += ["--no-mitigation"] * (not conditions.design.mitigation) + ["--no-soft-fec"] * (
        not conditions.design.soft_fec
    )
    usual = LinkDesign()
    words += ["--rate", conditions.design.rate.name] * (conditions.design.rate != usual.rate)
    if conditions.design.launch_dbm is not None:
        words += ["--launch-dbm", f"{conditions.design.launch_dbm:g}"]
    words += ["--circulator", conditions.design.circulator] * (
        conditions.design.circulator != usual.circulator
    )
    words += ["--laser", conditions.design.laser] * (conditions.design.laser != usual.laser)
    if conditions.return_loss_db is not None:
        words += ["--return-loss-db", f"{conditions.return_loss_db:g}"]
    return " ".join([*words, "-o", "json"])


def qualification_table(content: dict[str, Any]) -> str:
    """The report for people."""
    how = [word for word in ("mitigation", "soft_fec") if not content[word]]
    switched = f", without {' and '.join(how).replace('_', ' ')}" if how else ""
    verdict = "qualified" if content["qualified"] else "NOT QUALIFIED"
    reflected = content["return_loss_db"]
    reflects = "" if reflected is None else f", every port reflecting {reflected:g} dB"
    parts = f"{content['rate']}, {content['laser']}s, circulators {content['circulator']}"
    rows = [[f"{100 * float(share):g}%", f"{ber:.1e}"] for share, ber in content["ber_quantiles"].items()]
    pairings = f"{content['pairings']:,} pairings of {content['ends']:,} link ends"
    failed = f"{content['pairings_above']:,} pairings ({100 * content['share_above']:.2g}%)"
    lines = [
        f"{verdict}: {pairings} with {content['partners']} partners each{switched}{reflects}",
        f"modules: {parts}, {content['launch_dbm']:g} dBm a lane",
        f"above {content['threshold_ber']:g}: {failed}, {content['ends_above']:,} link ends",
        f"median margin: {content['median_margin_orders']:.2f} orders of magnitude",
        "",
        text_table(("PAIRINGS", "BER-UP-TO"), rows),
    ]
    if content["worst"]:
        headers = ("END", "PARTNER", "LANE", "BER", "MARGIN", "LOSS-DB", "RECEIVED-DBM", "INTERFERENCE-DB")
        lines += ["", text_table(headers, [_row(pairing) for pairing in content["worst"]])]
    return "\n".join([*lines, "", f"repeat: {content['repeat']}"])


def _row(pairing: dict[str, Any]) -> list[object]:
    figures = (pairing[name] for name in ("insertion_loss_db", "received_dbm", "interference_db"))
    return [
        pairing["end"],
        pairing["partner"],
        pairing["lane"],
        f"{pairing['ber']:.1e}",
        f"{pairing['margin_orders']:.2f}",
        *(f"{figure:.2f}" for figure in figures),
    ]
