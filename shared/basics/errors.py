"""One root for every error that a person or a supervisor must act on, divided by who must act.

The refusal of a request is not an error: it is a message on the log with a reason.
"""


class LightwaveError(Exception):
    """An error for the person who must act. `str()` is one clear sentence; `exit_code` is the exit code of
    the process."""

    exit_code = 1


class InvalidInput(LightwaveError):
    """An input is not allowed. The sentence names the field, the value and the allowed values."""

    exit_code = 2


class NotFound(LightwaveError):
    """The named object does not exist."""

    exit_code = 3


class TwinUnreachable(LightwaveError):
    """The twin does not answer."""

    exit_code = 4


class OperationFailed(LightwaveError):
    """The environment failed: disk full, port in use, Redis gone, data in use by another process."""


class StoreUnreachable(OperationFailed):
    """The state store does not answer. Its data are intact; a retry later is safe."""


class StoreDamaged(OperationFailed):
    """The state store cannot read its own files."""


class OutOfFileDescriptors(OperationFailed):
    """This process, or the machine, has no file descriptor left. Nothing is lost; a retry later is safe."""


class LogMoved(OperationFailed):
    """The open log file is no longer the file at the log's path."""


class SnapshotRefused(OperationFailed):
    """A snapshot is damaged, or belongs to another twin or build. Use an older one, or the log."""


class ArchiveDamaged(OperationFailed):
    """An archived segment of a log is missing or was modified."""


class RateLimited(LightwaveError):
    """The caller has used up its rate limit; a retry after `retry_after_s` is safe."""

    def __init__(self, sentence: str, retry_after_s: int) -> None:
        super().__init__(sentence)
        self.retry_after_s = retry_after_s


class TooLate(LightwaveError):
    """What the caller wants to undo has already taken effect."""


class LogDamaged(LightwaveError):
    """Log and state do not belong together, or the log is damaged."""


class StateRefused(LogDamaged):
    """A stored state, document or outbox entry is not what the twin committed: something else changed it. The
    log is intact; a rebuild from it replaces what is stored."""


class UpgradeNeeded(LightwaveError):
    """The states have other rules or another layout than this code; an upgrade must convert them first."""


class ServiceFailed(LightwaveError):
    """A service raised on a message, which is a bug. Its state was discarded; the log is intact."""


class Interrupted(LightwaveError):
    """A signal interrupted the operation, which stopped cleanly. The exit code is 128 + the signal's number;
    the default is that of Ctrl-C."""

    exit_code = 130

    def __init__(self, text: str, exit_code: int = 130) -> None:
        super().__init__(text)
        self.exit_code = exit_code
