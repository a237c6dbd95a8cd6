"""The folder that keeps a living twin: who uses it, what twin it holds, where its parts are."""

import contextlib
import logging
import os
import shutil
import stat
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from ops.local.user_folders import user_folder
from ops.sites.site_plans import NewTwinOptions
from ops.twin.resume_check import check_same_twin
from schemas.body import Model
from schemas.files.backup_manifest import SavedClock
from schemas.files.operations_log import TwinPlanned
from schemas.files.site_plan import SitePlan
from schemas.messages.failures import ParametersChanged
from shared.basics.errors import InvalidInput, LightwaveError, OperationFailed
from shared.runtimes.embedded.operations_file import OperationsFile
from shared.runtimes.operations_log import last_clock
from shared.storage.files.atomic_files import write_private_text
from shared.storage.files.folder_lock import LOCK, FolderLocked, is_locked, lock_folder
from shared.storage.log.log_bytes import SITE_LOG_SUFFIX, site_log
from shared.storage.snapshots.rules_upgrade import message_or_none

log = logging.getLogger("lightwave.up")
IDENTITY_FILE = "lightwave-twin.json"
PARAMETERS_CHANGED = b'"type":"ParametersChanged"'
LIVE_TWIN_FILES = ("kafka/lock", "mirror/lock", "historian/lock", "redis/redis.log")
"""What the processes of a live twin keep in their own data folder."""


def default_data() -> Path:
    """`lightwave` in the user's state directory (XDG)."""
    return user_folder("state", "lightwave")


class TwinIdentity(Model):
    """What was decided when the twin was made: its sites with their first fabrics. Who joined since is on the
    log alone."""

    sites: tuple[SitePlan, ...]


class RunningTwin(Model):
    """Where a running twin is to be reached: its gateway, and the Redis that holds its states."""

    pid: int
    url: str
    redis: str


class FolderInUse(OperationFailed):
    """Another process of the twin's software holds the folder."""


class DataFolder:
    """One twin's folder, held by one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.logs = path / "log"
        self.redis = path / "redis"
        self.telemetry = path / "telemetry"
        self.snapshots = path / "snapshots"
        self.upgrades = path / "upgrades"
        """Snapshots at upgrades: they are record, and `snapshots` a help."""
        self.dead_letters = path / "dead-letters.jsonl"
        self.clock = path / "clock.json"
        self.operations = path / "operations.jsonl"
        self.origin = path / "origin.json"
        """Of a fork, whence it comes."""
        self._identity_file = path / IDENTITY_FILE
        self._running = path / "running.json"
        self._lock: IO[str] | None = None

    def hold(self) -> None:
        """Make the folder where there is none and keep every other process out of it. FolderInUse while
        another has it, OperationFailed where it is a live twin's, and then nothing in it is touched."""
        self.check_embedded()
        try:
            self._lock = lock_folder(self.path)
        except FolderLocked:
            raise self._in_use() from None
        except OSError as error:
            raise self._failed(error) from None
        # A folder of others' files as well, such as a home, stays as it is, if only its user writes there.
        if self.holds_twin() or all(part.name == LOCK for part in self.path.iterdir()):
            self.path.chmod(0o700)
        elif (mode := stat.S_IMODE(self.path.stat().st_mode)) & 0o022:
            self.release()
            raise OperationFailed(
                f"data folder {self.path}: is writable by others (mode {mode:o}); must be writable by "
                "its owner only (`chmod go-w`)"
            )

    def check_embedded(self) -> None:
        """OperationFailed where a live twin keeps its files: one of this kind beside them, with a Redis of
        its own, would take their places, and `--fresh` their lives."""
        found = [Path(part).parent.name for part in LIVE_TWIN_FILES if (self.path / part).exists()]
        if found:
            raise OperationFailed(
                f"data folder {self.path}: holds files of a live twin ({', '.join(found)}), see `lightwave "
                "live status`; use another folder for `lightwave up`"
            )

    def check_free(self) -> None:
        """FolderInUse while another process has the folder; nothing is made or kept from others."""
        if is_locked(self.path):
            raise self._in_use()

    def _in_use(self) -> FolderInUse:
        running = self.running()
        who = f" (pid {running.pid})" if running is not None else ""
        return FolderInUse(f"data folder {self.path}: in use by another lightwave process{who}")

    def release(self) -> None:
        with contextlib.suppress(OSError):
            self._running.unlink()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def clear(self) -> None:
        """Remove what belongs to a twin, and nothing else that may lie in the folder."""
        parts = (self.logs, self.redis, self.telemetry, self.snapshots, self.upgrades)
        for part in (*parts, *self.path.glob(f"{self.redis.name}.damaged-*")):
            shutil.rmtree(part, ignore_errors=True)
        try:
            files = (self.dead_letters, self.clock, self.operations, self.origin)
            for file in (*files, self._identity_file, self._running):
                file.unlink(missing_ok=True)
        except OSError as error:
            raise self._failed(error) from None

    def identity(self) -> TwinIdentity | None:
        """The twin that the folder holds, or None. Where its own file is lost, it is what the operations log
        says was planned. OperationFailed where it is a live twin's folder."""
        self.check_embedded()
        kept = self._read_identity()
        if kept is not None:
            return kept
        lost = (
            f"data folder {self.path}: {IDENTITY_FILE} is "
            f"{'damaged' if self._identity_file.exists() else 'missing'}"
        )
        if not self._identity_file.exists() and not any(self.logs.glob(f"*{SITE_LOG_SUFFIX}")):
            return None
        bodies = (found.body for _, found in OperationsFile(self.operations).read())
        plan = next((body for body in bodies if isinstance(body, TwinPlanned)), None)
        if plan is None:
            raise OperationFailed(
                f"{lost}, and {self.operations.name} has no plan of this twin; restore {IDENTITY_FILE} "
                f"from a "
                "backup (--fresh would also erase the log)"
            )
        log.warning("%s; using the plan in %s", lost, self.operations.name)
        return TwinIdentity(sites=plan.sites)

    def _read_identity(self) -> TwinIdentity | None:
        """As the twin's own file has it; None where that is missing or damaged."""
        try:
            return TwinIdentity.model_validate_json(self._identity_file.read_bytes())
        except (FileNotFoundError, ValidationError):
            return None
        except OSError as error:
            raise self._failed(error) from None

    def holds_twin(self) -> bool:
        """Whether a twin was made here, sound or not."""
        return self._identity_file.exists()

    def open_or_create(
        self, requested: NewTwinOptions, new: tuple[SitePlan, ...] | None = None
    ) -> TwinIdentity:
        """The folder's twin; where there is none one of these new sites, or of those that are asked for.
        InvalidInput if it was made otherwise."""
        kept = self.identity()
        if kept is None:
            kept = TwinIdentity(sites=requested.sites() if new is None else new)
            self._write(self._identity_file, kept.model_dump_json())
            return kept
        if self._read_identity() is None:
            self._write(self._identity_file, kept.model_dump_json())
        files = requested.sites() if requested.site_files else ()
        try:
            check_same_twin(requested, files, kept.sites, self._changed)
        except InvalidInput as error:
            raise InvalidInput(
                f"{error}; data folder {self.path} already holds this twin: omit the option, or use --fresh"
            ) from None
        return kept

    def _changed(self, site: str, fabric: str) -> dict[str, object]:
        """The parameters of a fabric that were changed since it was made, as they are now, by its log."""
        found: dict[str, object] = {}
        try:
            for line in site_log(self.logs, site).lines():
                message = message_or_none(line) if PARAMETERS_CHANGED in line else None
                body = message.body if message is not None and message.fabric == fabric else None
                if isinstance(body, ParametersChanged):
                    found |= {change.name: change.value for change in body.changes}
        except LightwaveError:
            return {}  # a log that is lost or damaged is told of by who opens it
        return found

    def announce(self, url: str, redis: str) -> None:
        """Say where the running twin is to be reached."""
        running = RunningTwin(pid=os.getpid(), url=url, redis=redis)
        self._write(self._running, running.model_dump_json())

    def running(self) -> RunningTwin | None:
        """What the twin announced that ran here last, which may have been killed since, or have run in the
        folder that this one is a copy of; None if none did."""
        try:
            return RunningTwin.model_validate_json(self._running.read_bytes())
        except (OSError, ValueError):
            return None

    def stored_clock(self) -> SavedClock:
        """The clock as it was last asked for: where its own file is lost, by the operations log."""
        try:
            return SavedClock.model_validate_json(self.clock.read_text())
        except (OSError, ValueError):
            last = last_clock(OperationsFile(self.operations))
        if last is None:
            if self.clock.exists():
                log.warning("clock file %s: cannot be read; the clock resumes at × 1", self.clock)
            return SavedClock()
        log.warning(
            "clock file %s: cannot be read; using the last change of the clock in %s",
            self.clock,
            self.operations.name,
        )
        return SavedClock(
            speed=last.speed,
            paused=last.paused,
            now_us=last.anchor_us,
            until_us=last.until_us,
            run_speed=last.run_speed,
        )

    def _write(self, path: Path, text: str) -> None:
        try:
            write_private_text(path, text)
        except OSError as error:
            raise self._failed(error, path) from None

    def _failed(self, error: OSError, path: Path | None = None) -> OperationFailed:
        """The system's refusal, with the file of this folder that it is about."""
        name = path.name if path is not None else Path(str(error.filename or self.path)).name
        about = "" if name == self.path.name else f"{name}: "
        return OperationFailed(f"data folder {self.path}: {about}{error.strerror or error}")
