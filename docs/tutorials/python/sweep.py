"""Answer a question with many runs, and read them as data frames."""

# %% The question is a document, as in a file for `lightwave experiment run`
import lightwave

QUESTION = {
    "title": "Technicians of a small pod",
    "question": "Do four technicians keep more cubes healthy than one?",
    "fabric": {
        "days": 4,
        "warm_up_days": 1,
        "set": {"pod.cubes": 8, "failures.host_per_day": 0.05},
    },
    "vary": {"repairs.technicians": [1, 4]},
    "seeds": 8,
    "measure": ["cube_availability", "goodput"],
    "compare": {"against": {"repairs.technicians": 1}},
    "claim": {
        "measure": "cube_availability",
        "of": {"repairs.technicians": 4},
        "over": {"repairs.technicians": 1},
        "more_than": 0,
    },
    "steady": False,  # more hosts fail than one technician repairs, so the figures are of these 4 days alone
}
answer = lightwave.sweep(QUESTION, folder="technicians.results", workers=2, resume=True)

# %% Every figure has its interval; variants are compared seed by seed
for figure in answer.figures:
    print(f"{figure.variant.words}: {figure.measure} {figure.interval.value:.3f}", end=" ")
    print(f"[{figure.interval.low:.3f}, {figure.interval.high:.3f}]")
for one in answer.differences:
    print(f"{one.measure}: {one.interval.value:+.3f} [{one.interval.low:+.3f}, {one.interval.high:+.3f}]")
if answer.claim is not None:
    print(answer.claim.word, "-", answer.claim.sentence)

# %% One row per run, and one row per run and hour
runs = answer.runs()
print(runs.groupby("repairs.technicians")[["cube_availability", "goodput"]].describe().T)
hours = answer.series()
hours["day"] = hours["from_us"] // 86_400_000_000
print(hours.pivot_table(index="day", columns="repairs.technicians", values="cube_availability"))

# %% Polars and DuckDB read the same folder
import duckdb
import polars as pl

print(pl.read_parquet(answer.folder / "runs" / "*.parquet").select("seed", "goodput").head(3))
print(duckdb.read_parquet(f"{answer.folder}/runs/*.parquet").aggregate("avg(goodput)"))

# %% Finished runs are kept: only those of two more seeds are run
more = lightwave.sweep({**QUESTION, "seeds": 10}, folder="technicians.results", workers=2, resume=True)
if more.claim is not None:
    print(len(more.runs()), more.claim.sentence)
more.report("technicians.html")
