"""Results of experiments as data frames."""

from pathlib import Path
from typing import TYPE_CHECKING

from lightwave._arguments import check_argument_types
from ops.report.safe_text import quoted
from shared.basics.errors import InvalidInput, NotFound, OperationFailed

if TYPE_CHECKING:
    import pandas as pd


@check_argument_types
def read_runs(folder: str | Path) -> "pd.DataFrame":
    """The runs in a folder of results, a row each: `variant`, the parameters that vary by their dotted
    names, `seed`, every measure in its unit (`lightwave.measures()`), `messages`, `log_sha256`, `version`
    and `error`, which is missing of a run that ended well.

    `polars.read_parquet("FOLDER/runs/*.parquet")` and DuckDB's `FROM 'FOLDER/runs/*.parquet'` read the same.
    NotFound where there are none; InvalidInput where they cannot be read; OperationFailed without pandas.
    """
    return _read(Path(folder), "runs")


@check_argument_types
def read_series(folder: str | Path) -> "pd.DataFrame":
    """The course of the runs in a folder of results, a row for each run and window (an hour, unless the
    experiment stores others): the columns that tell runs apart as in `read_runs`, `from_us` and `to_us` in
    microseconds of simulated time, and every measure that can be told of a window.

    NotFound where there are none; InvalidInput where they cannot be read; OperationFailed without pandas.
    """
    return _read(Path(folder), "series")


def _read(folder: Path, part: str) -> "pd.DataFrame":
    try:
        import pandas as pd
        import pyarrow as pa
    except ModuleNotFoundError as error:
        raise OperationFailed(
            f"data frames need {error.name}: pip install 'lightwave-twin[frames]'"
        ) from None
    files = [*(folder / part).glob("*.parquet")]
    if not files:
        raise NotFound(f"{folder}: there are no results yet; `lightwave.sweep` makes them")
    for path in files:
        if not path.is_file():  # a pipe would never end
            raise InvalidInput(f"{path}: is not a results file")
    try:
        return pd.read_parquet(folder / part, partitioning=None)
    except (OSError, ValueError, TypeError, pa.ArrowException) as error:
        raise InvalidInput(f"{folder / part}: cannot be read ({quoted(str(error))})") from None
