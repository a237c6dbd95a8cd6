"""The message of an upgrade: another version of the twin's software continues a site."""

from typing import Annotated

from pydantic import Field

from schemas.body import Body, Model


class CodeVersion(Model):
    """A version of the twin's software: its build, and the number of the rules by which it folds a log."""

    software: str
    rules: Annotated[int, Field(ge=0)]


class Upgraded(Body):
    """Another version continues the site from here, with other rules or with states in another layout. No
    service reads it. `state_sha256` is the digest of all states of the site after their conversion, which are
    kept as a snapshot."""

    writer = "upgrade"

    before: CodeVersion
    after: CodeVersion
    state_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

    @property
    def changed_rules(self) -> bool:
        """Whether the new version folds the log by other rules than the version before."""
        return self.before.rules != self.after.rules
