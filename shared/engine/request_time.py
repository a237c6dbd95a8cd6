"""Request time: the simulated time that an operator's request gets on its site's log.

Every runtime and every replay computes it here. The clock may lag behind the log or run ahead of due Ticks.
So the clock alone does not decide: the time is later than all messages so far, and no Tick is overtaken.
`message_order` decides when the request goes.
"""


def request_time_us(now_us: int, clock_us: int | None, due_us: int | None) -> int:
    """Return the time of a request, in microseconds: max(now + 1, min(clock, earliest due)).

    `now_us` is the time of the site's last message, `clock_us` the clock (None if time stops), `due_us` the
    earliest due time of a service (None if none is due).
    """
    bounds = [at_us for at_us in (clock_us, due_us) if at_us is not None]
    return max(now_us + 1, min(bounds, default=0))
