"""`lightwave drill`: the group of commands about drills."""

from ops.cli.common.command_groups import RequestCommand, command_app, examples
from ops.cli.drills import desk, documents, incident, lab, run, schedule, show, stop, swarm

app = command_app("drill")


@app.callback()
def drill() -> None:
    """Run drills: break things on purpose, within limits."""


app.command(
    "run",
    cls=RequestCommand,
    epilog=examples("drill run ocs-lost.yaml --seed 7", "drill run ocs-lost.yaml --in fork"),
)(run.run)
app.command("watch", epilog=examples("drill watch pod-0/drill-3", "drill watch pod-0/drill-3 --timeout 10m"))(
    run.watch
)
app.command(
    "stop",
    cls=RequestCommand,
    epilog=examples(
        "drill stop pod-0/drill-3 --reason 'customers call'",
        "drill stop --all --hold --reason 'incident'",
    ),
)(stop.stop)
app.command(
    "release",
    cls=RequestCommand,
    epilog=examples("drill release --reason 'incident is over'", "drill release --reason ok --as alice"),
)(stop.release)
app.command(
    "schedule",
    cls=RequestCommand,
    epilog=examples(
        "drill schedule ocs-lost.yaml --every 7d --between 09:00-16:00",
        "drill schedule ocs-lost.yaml --first +1h",
    ),
)(schedule.schedule)
app.command(
    "unschedule",
    cls=RequestCommand,
    epilog=examples("drill unschedule pod-0/schedule-1", "drill unschedule pod-0/schedule-1 --as alice"),
)(schedule.unschedule)
app.command("list", epilog=examples("drill list --running", "drill list --schedules -o json"))(
    show.list_drills
)
app.command("show", epilog=examples("drill show pod-0/drill-3", "drill show pod-0/drill-3 -o json"))(
    show.show_drill
)
app.command(
    "journal", epilog=examples("drill journal pod-0/drill-3", "drill journal pod-0/drill-3 --out j.json")
)(show.journal)
app.command(
    "report",
    epilog=examples("drill report pod-0/drill-3", "drill report pod-0/drill-3 --html r.html --junit r.xml"),
)(show.report)
app.command(
    "export", epilog=examples("drill export pod-0/drill-3", "drill export pod-0/drill-3 --out plan.json")
)(show.export)
app.command(
    "from",
    epilog=examples(
        "drill from pod-0@5d3h --out incident.yaml", "drill from pod-0@-2h --data ~/twin --gap 30m"
    ),
)(incident.from_incident)
app.command("new", epilog=examples("drill new", "drill new ocs-lost.yaml"))(documents.new)
app.command(
    "validate",
    epilog=examples("drill validate ocs-lost.yaml", "drill validate a.yaml b.yaml --var ocs=ocs-3"),
)(documents.validate)
app.command("plan", epilog=examples("drill plan ocs-lost.yaml", "drill plan ocs-lost.yaml --fabric pod-0"))(
    documents.plan
)
app.command("schema", epilog=examples("drill schema", "drill schema --out drill.schema.json"))(
    documents.schema
)
app.command("verbs", epilog=examples("drill verbs", "drill verbs -o json"))(documents.verbs)
app.command(
    "score", epilog=examples("drill score pod-0/drill-3", "drill score month.jsonl.zst --drill pod-0/drill-3")
)(lab.score)
app.command(
    "suite", epilog=examples("drill suite --jobs 2 --scores scores.json", "drill suite --only no-fault")
)(lab.suite)
app.command(
    "swarm", epilog=examples("drill swarm --seeds 200 --budget 10m", "drill swarm --seed 1000 --jobs 2")
)(swarm.swarm)
app.command(
    "desk",
    cls=RequestCommand,
    epilog=examples("drill desk ocs-lost.yaml --as tina", "drill desk --drill pod-0/drill-3 --as tina"),
)(desk.desk)
app.command(
    "acknowledge",
    cls=RequestCommand,
    epilog=examples("drill acknowledge", "drill acknowledge --drill pod-0/drill-3 --as tina"),
)(desk.acknowledge)
app.command(
    "culprit",
    cls=RequestCommand,
    epilog=examples("drill culprit pod-0/ocs-17", "drill culprit pod-0/cube-3/host-2 --as tina"),
)(desk.culprit)
app.command(
    "hint", cls=RequestCommand, epilog=examples("drill hint", "drill hint --drill pod-0/drill-3 -o json")
)(desk.hint)
app.command("debrief", epilog=examples("drill debrief pod-0/drill-3", "drill debrief pod-0/drill-3 -o json"))(
    desk.debrief
)
