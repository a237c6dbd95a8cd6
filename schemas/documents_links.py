"""What the status documents of links say of one end."""

from schemas.body import Model


class EndImpairment(Model):
    """What is wrong with the light of a link end. It has none where its cube is `unpowered`, or it is
    `worked_on`: a technician has it in hand. `dirt_db` is loss that reflects, `lost_db` by strand loss
    that does not, `dimmed_db` by strand launched power lost; `deaf_db` light that the receivers need more,
    `leak_db` crosstalk of the circulator more, `hotter_k` warmer than the hall makes it. `end` is its number.
    """

    end: int
    unpowered: bool
    worked_on: bool = False
    dirt_db: float
    lost_db: tuple[float, float]
    dimmed_db: tuple[float, float]
    deaf_db: float
    leak_db: float
    hotter_k: float


class EndModule(Model):
    """A module that took the place of another at a link end, by its number: the how manieth there, and since
    when."""

    end: int
    generation: int
    since_us: int
