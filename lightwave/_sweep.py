"""Experiments: many runs of the lab, compared."""

import shlex
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lightwave._arguments import check_argument_types
from lightwave._dataframes import read_runs, read_series
from lightwave._errors import without_option_names
from ops.experiments.dask_cluster import cluster_at
from ops.experiments.dataset import open_dataset
from ops.experiments.html_report import html_report
from ops.experiments.library import library_path
from ops.experiments.loader import PlannedExperiment, parse_experiment, plan_experiment, read_experiment
from ops.experiments.result_json import results_json
from ops.experiments.results import ClaimVerdict, MeasureEstimate, Results, VariantDifference, results_of
from ops.experiments.schema import Scalar
from ops.experiments.steadiness import VariantSteadiness
from ops.experiments.sweep import SweepProgress, run_sweep
from ops.local.output_file import atomic_output_file
from ops.local.software_version import software_version
from shared.basics.checks import check_count
from shared.basics.errors import InvalidInput, NotFound, OperationFailed

if TYPE_CHECKING:
    import pandas as pd

WORKERS_MAX = 256
ProgressCallback = Callable[[SweepProgress], None] | None


@dataclass(frozen=True)
class Sweep:
    """The result of an experiment. Its runs are in `folder`, which is deleted with this object unless the
    caller named it."""

    results: Results
    folder: Path

    @property
    def figures(self) -> Sequence[MeasureEstimate]:
        """Every measure in every variant, with its confidence interval."""
        return self.results.figures

    @property
    def differences(self) -> Sequence[VariantDifference]:
        """The difference of each measure from the variant of `compare.against`; empty without that."""
        return self.results.compared

    @property
    def claim(self) -> ClaimVerdict | None:
        """The verdict on the claim; its `word` is "holds", "does not hold", "is undecided", or, for a variant
        that is not steady, "is not judged"."""
        return self.results.verdict

    @property
    def steadiness(self) -> Sequence[VariantSteadiness]:
        """Whether each variant is steady, with its loads and backlogs; see docs/reference/experiments.md."""
        return self.results.steadiness

    @check_argument_types
    def figure(self, measure: str, **where: Scalar) -> MeasureEstimate:
        """A measure in the variant with these parameter values: `figure("goodput",
        **{"repairs.technicians": 2})`. NotFound if no variant has them, or more than one."""
        found = [one for one in self.figures if one.measure == measure and one.variant.has(where)]
        if len(found) == 1:
            return found[0]
        values = ", ".join(f"{name} {value}" for name, value in where.items()) or "no values"
        raise NotFound(
            f"{measure} with {values}: is in {len(found)} variants; add values until one variant is left"
        )

    def runs(self) -> "pd.DataFrame":
        """A row per run, as in `lightwave.read_runs`."""
        return read_runs(self.folder)

    def series(self) -> "pd.DataFrame":
        """A row per run and window, as in `lightwave.read_series`."""
        return read_series(self.folder)

    def as_dict(self) -> dict[str, object]:
        """The output of `lightwave experiment run -o json`."""
        return results_json(self.results)

    @check_argument_types
    def report(self, file: str | Path) -> None:
        """Write the report as one HTML page. OperationFailed if it cannot be written."""
        name = shlex.quote(str(self.folder / "experiment.yaml"))
        text = html_report(self.results, f"lightwave experiment run {name}", software_version())
        try:
            with atomic_output_file(Path(file)) as out:
                out.write(text.encode())
        except OSError as error:
            raise OperationFailed(f"{file}: {error.strerror or error}") from None


@check_argument_types
def sweep(
    experiment: Mapping[str, object] | str | Path,
    *,
    folder: str | Path | None = None,
    workers: int | None = None,
    dask: str | None = None,
    resume: bool = False,
    progress: ProgressCallback = None,
) -> Sweep:
    """Execute the missing runs of an experiment, and return its result.

    The result is byte-identical to that of `lightwave experiment run`.

    - `experiment`: a document as a dict, a file, or the name of a ready one ("technicians"); see
      docs/reference/experiments.md.
    - `folder`: the folder of the results; by default a temporary one, deleted with the returned object.
    - `resume`: continue with the results in `folder`.
    - `workers`: number of processes (default 1). `dask`: address of a Dask scheduler, instead of `workers`.
    - `progress`: called after each run.

    InvalidInput names the problem of the document or of an argument; NotFound for an unknown file;
    OperationFailed if results cannot be written, a worker dies, or no cluster answers. If `folder` is given,
    finished runs are kept after every error, also after KeyboardInterrupt.

    >>> answer = sweep({
    ...     "title": "Technicians", "question": "Does a second one help?",
    ...     "fabric": {"days": 0.2, "set": {"pod.cubes": 4, "failures.host_per_day": 0.5}},
    ...     "vary": {"repairs.technicians": [1, 2]}, "seeds": 3, "measure": ["cube_availability"],
    ... })
    >>> [one.interval.runs for one in answer.figures]
    [3, 3]
    """
    if workers is not None:
        if dask is not None:
            raise InvalidInput("workers: cannot be combined with dask, whose cluster has its own workers")
        check_count("workers", workers, 1, WORKERS_MAX)
    planned = _read_plan(experiment)
    if folder is not None:
        return _run(planned, Path(folder), workers or 1, dask, progress, resume=resume)
    place = tempfile.mkdtemp(prefix="lightwave-")
    try:
        found = _run(planned, Path(place), workers or 1, dask, progress, resume=True)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    weakref.finalize(found, shutil.rmtree, place, ignore_errors=True)
    return found


def _run(
    planned: PlannedExperiment,
    folder: Path,
    workers: int,
    dask: str | None,
    progress: ProgressCallback,
    *,
    resume: bool,
) -> Sweep:
    with (
        without_option_names(),
        nullcontext(workers) if dask is None else cluster_at(dask) as executor,
        open_dataset(folder, planned, software_version(), resume=resume) as dataset,
    ):
        swept = run_sweep(planned, dataset, workers=executor, on_progress=progress)
    return Sweep(results_of(planned, swept), folder)


def _read_plan(experiment: Mapping[str, object] | str | Path) -> PlannedExperiment:
    if isinstance(experiment, Mapping):
        return plan_experiment(parse_experiment(experiment), Path())
    path = Path(experiment)
    if isinstance(experiment, str) and not path.suffix and "/" not in experiment and not path.exists():
        path = library_path(experiment)
    return read_experiment(path)
