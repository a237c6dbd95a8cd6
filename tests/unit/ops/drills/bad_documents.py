"""Bad drill documents: each is a good one with one text replaced."""

from pathlib import Path

from ops.drills.document import parse_drill
from shared.basics.errors import InvalidInput

GOOD = Path(__file__).with_name("good_drill.yaml").read_text(encoding="utf-8")
CASES: dict[str, tuple[str, str]] = {
    "empty": (GOOD, ""),
    "not a mapping": (GOOD, "- 1\n"),
    "not YAML": ("tags: [ocs]", "tags: [ocs"),
    "an alias": ("tags: [ocs]", "tags: *x"),
    "no title": ("title: An OCS dies\n", ""),
    "empty title": ("title: An OCS dies\n", "title: ''\n"),
    "title is a number": ("title: An OCS dies\n", "title: 5\n"),
    "unknown field": ("tags: [ocs]", "tag: [ocs]"),
    "secrets": ("tags: [ocs]", "secrets: {a: b}"),
    "controls": ("tags: [ocs]", "controls: []"),
    "tags are no list": ("tags: [ocs]", "tags: ocs"),
    "contribution": ("availability: high", "availability: huge"),
    "environment": ("most: 3", "most: {type: env, key: X}"),
    "name of a variable": ("most: 3", "the most: 3"),
    "unknown variable": ('target: "${fabric}/${ocs}"}', 'target: "${fabrik}/${ocs}"}'),
    "dollar alone": ('target: "${fabric}/${ocs}"}', 'target: "$fabric/${ocs}"}'),
    "no probes": ("  probes:\n", "  probs:\n"),
    "no tolerance": ("    tolerance: 0\n", ""),
    "fraction": ("    tolerance: 0\n", "    tolerance: 0.5\n"),
    "jsonpath": ("    tolerance: 0\n", "    tolerance: {type: jsonpath, path: $.a}\n"),
    "probe as tolerance": ("    tolerance: 0\n", "    tolerance: {type: probe, name: x}\n"),
    "regex": ("    tolerance: 0\n", "    tolerance: {type: regex, pattern: a}\n"),
    "type of tolerance": ("{type: range,", "{type: rang,"),
    "empty range": ("range: [0.9, 1.0]", "range: [1.0, 0.9]"),
    "share above 1": ("range: [0.9, 1.0]", "range: [0.9, 90]"),
    "one bound": ("range: [0.9, 1.0]", "range: [0.9]"),
    "negative count": ("    tolerance: 0\n", "    tolerance: -1\n"),
    "two words": ("    tolerance: 0\n", "    tolerance: [a, b]\n"),
    "unknown verb": ("func: events", "func: event"),
    "an action in the hypothesis": ("func: events", "func: inject"),
    "http": ("{type: python, module: ops.drills.verbs, func: events,", "{type: http, url: x, func: events,"),
    "process": (
        "{type: python, module: ops.drills.verbs, func: events,",
        "{type: process, path: x, func: events,",
    ),
    "another module": ("module: ops.drills.verbs, func: events", "module: os, func: system"),
    "unknown message": ("type: SliceEvicted", "type: SliceEvictd"),
    "unknown kind": ("{kind: slices,", "{kind: slice-s,"),
    "unknown field of a row": ("where: state=running", "where: stat=running"),
    "unknown state": ("where: state=running", "where: state=runing"),
    "probe twice": ("  - name: no-eviction", "  - name: running"),
    "name of a probe": ("  - name: running", "  - name: Running slices"),
    "probe in background": ("    tolerance: 0\n", "    tolerance: 0\n    background: true\n"),
    "unknown argument": ("arguments: {lasts: 10m}", "arguments: {last: 10m}"),
    "missing argument": ("arguments: {lasts: 10m}", "arguments: {}"),
    "number as duration": ("{lasts: 10m}", "{lasts: 600}"),
    "unit of duration": ("{lasts: 10m}", "{lasts: 10 minutes}"),
    "zero in front": ("{lasts: 10m}", "{lasts: 010m}"),
    "zero duration": ("{lasts: 10m}", "{lasts: 0s}"),
    "kind of fault": ("arguments: {kind: ocs,", "arguments: {kind: osc,"),
    "part of another kind": (
        "target: pod-0/cube-1/+y/7, severity",
        "target: pod-0/cube-1, severity",
    ),
    "severity too high": ("severity: 3", "severity: 300"),
    "severity as text": ("severity: 3", "severity: high"),
    "no severity": ('target: "${fabric}/${ocs}"}}', 'target: "${fabric}/${ocs}", severity: 3}}'),
    "no onset": ('target: "${fabric}/${ocs}"}}', 'target: "${fabric}/${ocs}", onset: 1h}}'),
    "no fabric": ("target: pod-0/cube-1/+y/7", "target: cube-1/+y/7"),
    "falling range": ("cube-[0-3]", "cube-[3-0]"),
    "huge range": ("cube-[0-3]", "cube-[0-9999]"),
    "name given twice": ('"pod-0/cube-[0-3]"', "[pod-0/cube-1, pod-0/cube-1]"),
    "two fabrics": ('"pod-0/cube-[0-3]"', "[pod-0/cube-1, pod-1/cube-1]"),
    "not a cube": ('"pod-0/cube-[0-3]"', "pod-0/ocs-1"),
    "shape": ("shape: 4x4x8", "shape: 4x4"),
    "tier": ("tier: research", "tier: reserch"),
    "unknown parameter": ("repairs.technicians: 1", "repairs.technician: 1"),
    "fixed parameter": ("repairs.technicians: 1", "pod.cubes: 8"),
    "value of a parameter": ("repairs.technicians: 1", "repairs.technicians: few"),
    "bound of a parameter": ("repairs.technicians: 1", "repairs.technicians: -1"),
    "no parameters": ("{repairs.technicians: 1}", "{}"),
    "condition and resource": ("{of: ", "{condition: 'count(cubes) > 1', of: "),
    "no value": ("is_value: up, ", ""),
    "unknown field of an OCS": ("field: state, is_value", "field: stat, is_value"),
    "negative pause": ("pauses: {after: 5}", "pauses: {after: -5}"),
    "text as pause": ("pauses: {after: 5}", "pauses: {after: 5s}"),
    "background as text": ("background: true", "background: maybe"),
    "tolerance in the method": ("- name: later\n", "- name: later\n  tolerance: 1\n"),
    "reference": ("- name: later\n", "- name: later\n  ref: dies\n"),
    "step twice": ("- name: later\n", "- name: dies\n"),
    "type of activity": ("- name: later\n  type: action", "- name: later\n  type: actoin"),
    "clear in the method": (
        "func: wait, arguments: {lasts: 10m}",
        "func: clear, arguments: {target: pod-0/ocs-1}",
    ),
    "strategy": ("strategy: continuously", "strategy: after-method-only"),
    "strategy of rollbacks": ("strategy: always", "strategy: alway"),
    "no extension": ("- name: lightwave\n", "- name: other\n"),
    "version": ("version: 1", "version: 2"),
    "unknown field of the extension": ("ends_within: 4h", "ends_in: 4h"),
    "no lease": ("  ends_within: 4h\n", ""),
    "short lease": ("ends_within: 4h", "ends_within: 1h"),
    "kind of target": ("{kind: ocs, where", "{kind: osc, where"),
    "field of target": ("circuits_made>0", "circuits_mad>0"),
    "choose none": ("choose: 1}", "choose: 0}"),
    "names and where": ("choose: 1}", "names: [pod-0/ocs-1]}"),
    "weight of an unknown probe": ("probes: {running: {weight", "probes: {runing: {weight"),
    "times of an unknown step": ("steps: {more:", "steps: {mor:"),
    "repeat without every": ("every: 10m, ", ""),
    "allowance of an unknown probe": ("during: {running:", "during: {runnin:"),
    "empty allowance": ("{running: {at_most: 45m}}", "{running: {}}"),
    "unknown limit": ("slices_degraded: 64", "slices_degrade: 64"),
    "negative limit": ("slices_degraded: 64", "slices_degraded: -1"),
    "unknown stop": ("[no-eviction]", "[no-evictions]"),
    "unknown expected message": ("type: OcsDown", "type: OcsDwn"),
    "expected without within": (", within: 10s", ""),
    "unknown weight": ("{detect: 1,", "{detection: 1,"),
    "hide": ("hints: [", "hide: [faults], hints: ["),
    "no par": ("par: {find: 5m, act: 15m},", ""),
    "answer without fabric": ('answer: "${fabric}/${ocs}"', "answer: ocs-17"),
}
"""Name → (text of the good document, its replacement)."""


def bad_document(name: str) -> str:
    """The text of a bad document."""
    before, after = CASES[name]
    assert GOOD.count(before) >= 1, name
    return GOOD.replace(before, after, 1)


def sentence_of(name: str) -> str:
    """The error of a bad document; empty if it is accepted."""
    try:
        parse_drill(bad_document(name), "d.yaml")
    except InvalidInput as error:
        return str(error)
    return ""
