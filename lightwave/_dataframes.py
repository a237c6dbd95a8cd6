"""Results of experiments as data frames."""

from pathlib import Path
from typing import TYPE_CHECKING

from lightwave._arguments import check_argument_types
from ops.report.safe_text import quoted
from shared.basics.errors import InvalidInput, NotFound, OperationFailed
from shared.storage.files.own_folders import is_own_folder

if TYPE_CHECKING:
    import pandas as pd


@check_argument_types
def read_runs(folder: str | Path) -> "pd.DataFrame":
    """The runs in a folder of results, a row each. Columns: `variant`, the varied parameters by dotted name,
    `seed`, every measure in its unit (`lightwave.measures()`), `messages`, `log_sha256`, `version`, and
    `error`, which is missing if the run succeeded.

    `polars.read_parquet("FOLDER/runs/*.parquet")` and DuckDB's `FROM 'FOLDER/runs/*.parquet'` read the same.
    NotFound if there are none; InvalidInput if they cannot be read; OperationFailed without pandas.
    """
    return _read(Path(folder), "runs")


@check_argument_types
def read_series(folder: str | Path) -> "pd.DataFrame":
    """The time series of the runs in a folder of results, a row per run and window (an hour, unless the
    experiment sets another). Columns: those that identify a run in `read_runs`, `from_us` and `to_us` in
    microseconds of simulated time, and every measure that windows have.

    NotFound if there are none; InvalidInput if they cannot be read; OperationFailed without pandas.
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
    try:
        files = [*(folder / part).glob("*.parquet")] if is_own_folder(folder / part) else []
    except OSError as error:
        raise InvalidInput(f"{error.filename}: {error.strerror}") from None
    if not files:
        raise NotFound(f"{folder}: there are no results yet; create them with `lightwave.sweep`")
    for path in files:
        if path.is_symlink() or not path.is_file():  # reading a pipe would block
            raise InvalidInput(f"{path}: is not a results file")
    try:
        return pd.read_parquet(folder / part, partitioning=None)
    except (OSError, ValueError, TypeError, pa.ArrowException) as error:
        raise InvalidInput(f"{folder / part}: cannot be read ({quoted(str(error))})") from None
