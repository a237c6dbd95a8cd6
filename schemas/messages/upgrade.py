"""That another version of the twin's software went on with a site."""

from typing import Annotated

from pydantic import Field

from schemas.body import Body, Model


class CodeVersion(Model):
    """A version of the twin's software: its build, and the number of the rules by which it folds a log."""

    software: str
    rules: Annotated[int, Field(ge=0)]


class Upgraded(Body):
    """Another version went on with the site from here: by other rules, or with states in another form. No
    service reads it. `state_sha256` is the digest of all states of the site as that version took them over,
    which are kept as a snapshot."""

    writer = "upgrade"

    before: CodeVersion
    after: CodeVersion
    state_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

    @property
    def changed_rules(self) -> bool:
        """Whether what follows is not what the version before would have made of the log."""
        return self.before.rules != self.after.rules
