"""One root for every error that a person or a supervisor must act on, split by who must act.

A refusal is never an error: it is an event with a reason.
"""


class LightwaveError(Exception):
    """`str()` is one clear sentence for the person who must act. `exit_code` is the process's answer."""

    exit_code = 1


class InvalidInput(LightwaveError):
    """The caller gave something that is not allowed: the sentence names field, value and what is allowed."""

    exit_code = 2


class NotFound(LightwaveError):
    """No such thing."""

    exit_code = 3


class TwinUnreachable(LightwaveError):
    """No twin answers."""

    exit_code = 4


class OperationFailed(LightwaveError):
    """The surroundings failed: disk full, port in use, Redis gone, data in use by another process."""


class StoreUnreachable(OperationFailed):
    """The state store does not answer. What it holds is intact: trying again later is safe."""


class StoreDamaged(OperationFailed):
    """The state store cannot read its own files."""


class OutOfFileDescriptors(OperationFailed):
    """This process, or the machine, has no file descriptor left. Nothing is lost: trying again later is
    safe."""


class LogMoved(OperationFailed):
    """The file that is written no longer stands under the log's name."""


class SnapshotRefused(OperationFailed):
    """A snapshot is damaged, or of another twin or build. An older one, or the log, will do."""


class ArchiveDamaged(OperationFailed):
    """A stretch of a log that was archived is missing, or not as it was written."""


class RateLimited(LightwaveError):
    """The caller has taken its share: asking again in `retry_after_s` is safe."""

    def __init__(self, sentence: str, retry_after_s: int) -> None:
        super().__init__(sentence)
        self.retry_after_s = retry_after_s


class TooLate(LightwaveError):
    """What the caller would undo has happened already."""


class LogDamaged(LightwaveError):
    """Log and state do not belong together, or the log is not what it should be."""


class UpgradeNeeded(LightwaveError):
    """States are of other rules, or of another form, than this code's: somebody must take them over first."""


class ServiceFailed(LightwaveError):
    """A service raised on a message: a bug. The state was thrown away; the log is intact."""


class Interrupted(LightwaveError):
    """A person ended what was going on, which stopped in good order."""

    exit_code = 130
