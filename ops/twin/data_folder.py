"""The data folder of an embedded twin: its lock, the twin's identity, and the paths of its files."""

import contextlib
import logging
import os
import secrets
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
from shared.runtimes.embedded.valkey_server import EmbeddedValkey
from shared.runtimes.operations_log import last_clock
from shared.storage.files.atomic_files import write_private_text
from shared.storage.files.folder_lock import LOCK, FolderLocked, is_locked, lock_folder
from shared.storage.files.own_files import open_own, read_own
from shared.storage.files.own_folders import check_no_links
from shared.storage.log.log_bytes import SITE_LOG_SUFFIX, site_log
from shared.storage.snapshots.fold_start import message_or_none
from shared.storage.store.state_digests import StateDigests

log = logging.getLogger("lightwave.up")
DIGEST_KEY = "digest.key"
"""File with the key of the digests of stored states. Redis never receives it."""
KEY_BYTES = 32
IDENTITY_FILE = "lightwave-twin.json"
PARAMETERS_CHANGED = b'"type":"ParametersChanged"'
LIVE_TWIN_FILES = ("kafka/lock", "mirror/lock", "historian/lock", "redis/redis.log")
"""Files that the processes of a live twin keep in their own data folder."""


def default_data() -> Path:
    """`lightwave` in the user's state directory (XDG)."""
    return user_folder("state", "lightwave")


class TwinIdentity(Model):
    """The plan of the twin: its sites with their first fabrics. Fabrics that joined later are only on the
    log."""

    sites: tuple[SitePlan, ...]


class RunningTwin(Model):
    """Addresses of a running twin: its gateway, and the Redis with its states."""

    pid: int
    url: str
    redis: str


class FolderInUse(OperationFailed):
    """Another lightwave process has locked the folder."""


class DataFolder:
    """The folder of one twin, locked by one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.logs = path / "log"
        self.redis = path / "redis"
        self.telemetry = path / "telemetry"
        self.snapshots = path / "snapshots"
        self.upgrades = path / "upgrades"
        """Snapshots at upgrades. They are part of the record; those in `snapshots` can be made again."""
        self.dead_letters = path / "dead-letters.jsonl"
        self.clock = path / "clock.json"
        self.operations = path / "operations.jsonl"
        self.origin = path / "origin.json"
        """Origin of a fork."""
        self._digest_key = path / DIGEST_KEY
        self._identity_file = path / IDENTITY_FILE
        self._running = path / "running.json"
        self._lock: IO[bytes] | None = None

    def hold(self) -> None:
        """Create the folder if needed, and lock it.

        Raises FolderInUse while another process has locked it. Raises OperationFailed, without any change, if
        it is a live twin's.
        """
        self.check_embedded()
        try:
            self._lock = lock_folder(self.path)
        except FolderLocked:
            raise self._in_use() from None
        except OSError as error:
            raise self._failed(error) from None
        # A folder with other files, such as a home folder, keeps its mode, if only its owner can write to it.
        if self.holds_twin() or all(part.name == LOCK for part in self.path.iterdir()):
            self.path.chmod(0o700)
        elif (mode := stat.S_IMODE(self.path.stat().st_mode)) & 0o022:
            self.release()
            raise OperationFailed(
                f"data folder {self.path}: is writable by others (mode {mode:o}); must be writable by "
                "its owner only (`chmod go-w`)"
            )

    def check_embedded(self) -> None:
        """Raise OperationFailed if a live twin keeps its files here: an embedded twin would overwrite them,
        and `--fresh` would delete them. Also if a folder of the twin is a link, or has one in it: it could
        lead to any folder of this user."""
        parts = [part.name for part in (self.logs, self.telemetry, self.snapshots, self.upgrades)]
        try:
            check_no_links(self.path, parts, files_too=[self.redis.name])
        except OSError as error:
            place = Path(str(error.filename)).relative_to(self.path)
            raise OperationFailed(f"data folder {self.path}: {place}: {error.strerror}") from None
        found = [Path(part).parent.name for part in LIVE_TWIN_FILES if (self.path / part).exists()]
        if found:
            raise OperationFailed(
                f"data folder {self.path}: holds files of a live twin ({', '.join(found)}), see `lightwave "
                "live status`; use another folder for `lightwave up`"
            )

    def check_free(self) -> None:
        """Raise FolderInUse while another process has locked the folder. Creates and locks nothing."""
        if is_locked(self.path):
            raise self._in_use()

    def _in_use(self) -> FolderInUse:
        running = self.running()
        pid = f" (pid {running.pid})" if running is not None else ""
        return FolderInUse(f"data folder {self.path}: in use by another lightwave process{pid}")

    def release(self) -> None:
        with contextlib.suppress(OSError):
            self._running.unlink()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def clear(self) -> None:
        """Remove the twin's files, and no other file in the folder."""
        parts = (self.logs, self.redis, self.telemetry, self.snapshots, self.upgrades)
        for part in (*parts, *self.path.glob(f"{self.redis.name}.damaged-*")):
            shutil.rmtree(part, ignore_errors=True)
        try:
            files = (self.dead_letters, self.clock, self.operations, self.origin)
            for file in (*files, self._identity_file, self._running, self._digest_key):
                file.unlink(missing_ok=True)
        except OSError as error:
            raise self._failed(error) from None

    def state_digests(self) -> StateDigests:
        """The digests of the twin's stored states, with the key in the folder, which no backup or fork
        contains. Creates the key if it is missing; then stored states are rebuilt at the next start.

        Raises OperationFailed if the key cannot be read or written, or if other users can read it.
        """
        try:
            with open_own(self._digest_key) as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                secret = file.read(2 * KEY_BYTES + 2).rstrip(b"\r\n")
        except FileNotFoundError:
            secret, mode = b"", 0o600
        except OSError as error:
            raise self._failed(error, self._digest_key) from None
        if mode & 0o077:
            raise OperationFailed(
                f"data folder {self.path}: other users can access {DIGEST_KEY} (mode {mode:o}); the mode "
                f"must be 600: run `chmod go= {self._digest_key}`"
            )
        if len(secret) != 2 * KEY_BYTES:
            if self._digest_key.exists():
                log.warning(
                    "data folder %s: %s is not a key of %d characters; made a new one, so stored states are "
                    "rebuilt from the log",
                    *(self.path, DIGEST_KEY, 2 * KEY_BYTES),
                )
            secret = secrets.token_hex(KEY_BYTES).encode()
            self._write(self._digest_key, secret.decode())
        return StateDigests("", secret)

    def identity(self) -> TwinIdentity | None:
        """The twin in the folder, or None.

        If the identity file is lost, uses the plan on the operations log. Raises OperationFailed if the
        folder is a live twin's.
        """
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
                "from a backup (--fresh would also erase the log)"
            )
        log.warning("%s; using the plan in %s", lost, self.operations.name)
        return TwinIdentity(sites=plan.sites)

    def _read_identity(self) -> TwinIdentity | None:
        """The content of the identity file; None if it is missing or damaged."""
        try:
            return TwinIdentity.model_validate_json(read_own(self._identity_file))
        except (FileNotFoundError, ValidationError):
            return None
        except OSError as error:
            raise self._failed(error) from None

    def holds_twin(self) -> bool:
        """Whether a twin was created here, intact or not."""
        return self._identity_file.exists()

    def open_or_create(
        self, requested: NewTwinOptions, new: tuple[SitePlan, ...] | None = None
    ) -> TwinIdentity:
        """The folder's twin; creates one of the sites `new`, or of the requested sites, if there is none.

        Raises InvalidInput if the existing twin does not match the request.
        """
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
        """Parameters of a fabric that were changed since its commissioning, with their current values, from
        its log."""
        found: dict[str, object] = {}
        try:
            for line in site_log(self.logs, site).lines():
                message = message_or_none(line) if PARAMETERS_CHANGED in line else None
                body = message.body if message is not None and message.fabric == fabric else None
                if isinstance(body, ParametersChanged):
                    found |= {change.name: change.value for change in body.changes}
        except LightwaveError:
            return {}  # the code that opens a lost or damaged log reports the error
        return found

    def announce(self, url: str, redis: str) -> None:
        """Record the addresses of the running twin."""
        running = RunningTwin(pid=os.getpid(), url=url, redis=redis)
        self._write(self._running, running.model_dump_json())

    def running(self) -> RunningTwin | None:
        """The last announced addresses; None if there are none.

        That twin may have been killed since, or may have run in the folder that this one was copied from."""
        try:
            return RunningTwin.model_validate_json(read_own(self._running))
        except (OSError, ValueError):
            return None

    def stored_clock(self) -> SavedClock:
        """The clock as last set; if its own file is lost, from the operations log."""
        try:
            return SavedClock.model_validate_json(read_own(self.clock))
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
        """An operating system error, with the file of this folder that caused it."""
        name = path.name if path is not None else Path(str(error.filename or self.path)).name
        about = "" if name == self.path.name else f"{name}: "
        return OperationFailed(f"data folder {self.path}: {about}{error.strerror or error}")


def start_own_redis(folder: DataFolder, stack: contextlib.ExitStack) -> str:
    """Start the Redis of the folder until the stack is closed, and return its URL."""
    server = EmbeddedValkey(folder.redis)
    stack.callback(server.stop)
    server.ensure()
    return server.url
