"""The event loop of the kernel: faults strike, are noticed, wait for repair, are repaired and end.

One source for both forms: plain Python on lists, or compiled on arrays.

Arguments, in groups:

    faults    `at` in order of time, `of` the parts, and when `noticed` (empty: at once)
    shop      by part its class; by class the mean repair time, and its queue, which is twice the
              repair priority, plus one if specialists do it, too
    units     repair times of mean 1 for the repairs from a number on, and that number
    table     by record: which part failed when, the number of its repair request (−1: not noticed yet), when
              the repair began and ended (−1.0: not yet), its duration, who does it (0 crews, 1 specialists),
              and the record that waits after it
    queues    the first and the last waiting record of each (−1: none)
    work      a heap of next events: when, and of which record
    down      by part, whether it is down
    counts    by place, as below

The last five are the state, which is changed.
"""

from heapq import heappop, heappush, heapreplace
from typing import Any

FREE, FREE_SPECIAL, WAITING, OPENED, RECORDS, WORK = range(6)
"""Places of `counts`: idle crews and specialists, waiting repairs, repairs requested so far, records so far,
and remaining entries of the heap."""
COUNTS = 6
NOT_YET = -1.0


def next_queue(crew_kind: int, heads: Any, requested: Any) -> int:
    """The queue whose first repair is next for crews (0) or specialists (1); −1 if none waits for them.

    Crews take the lowest priority number first, specialists the oldest request first.
    """
    chosen = -1
    for queue in range(crew_kind, len(heads), 1 + crew_kind):
        if chosen >= 0 and crew_kind == 0 and queue >> 1 != chosen >> 1:
            break
        if heads[queue] >= 0 and (chosen < 0 or requested[heads[queue]] < requested[heads[chosen]]):
            chosen = queue
    return chosen


def advance(choose: Any, until: float, faults: Any, shop: Any, units: Any, state: Any) -> None:
    """Advances to `until`. Repairs that end at a time come before failures at that time. `choose`:
    `next_queue`."""
    at, struck_parts, noticed = faults
    class_of, mean, queue_of = shop
    drawn, drawn_from = units
    table, queues, work, down, counts = state
    part, failed, requested, begun, mended, takes, by, after = table
    heads, tails = queues
    work_at, work_of = work
    waiting, opened, records = counts[WAITING], counts[OPENED], counts[RECORDS]
    heap = [(0.0, 0)][:0]  # not by a comprehension: compiled, it would lose what is written to tuples' arrays
    for n in range(counts[WORK]):
        heap.append((work_at[n], work_of[n]))
    fault_count, is_noticed_at_once, n = len(at), len(noticed) == 0, 0
    next_at = at[0] if fault_count else until
    while True:
        if heap and heap[0][0] <= next_at:
            now, record = heap[0]
            if requested[record] >= 0:
                mended[record] = now
                down[part[record]] = 0
                queue = choose(by[record], heads, requested) if waiting else -1
                if queue < 0:
                    heappop(heap)
                    counts[by[record]] += 1
                    continue
                chosen = heads[queue]
                heads[queue] = after[chosen]
                waiting -= 1
                begun[chosen] = now
                by[chosen] = by[record]
                heapreplace(heap, (now + takes[chosen], chosen))
                continue
            heappop(heap)
        else:
            if n >= fault_count:
                break
            now, struck, record = next_at, struck_parts[n], records
            n += 1
            next_at = at[n] if n < fault_count else until
            if down[struck]:
                continue
            records += 1
            down[struck] = 1
            part[record] = struck
            failed[record] = now
            if not is_noticed_at_once:
                heappush(heap, (noticed[n - 1], record))
                continue
        kind = class_of[part[record]]
        queue = queue_of[kind]
        requested[record] = opened
        takes[record] = drawn[opened - drawn_from] * mean[kind]
        opened += 1
        crew_kind = 1 if queue & 1 and counts[FREE_SPECIAL] else 0
        if counts[crew_kind]:
            counts[crew_kind] -= 1
            by[record] = crew_kind
            begun[record] = now
            heappush(heap, (now + takes[record], record))
            continue
        waiting += 1
        if heads[queue] >= 0:
            after[tails[queue]] = record
        else:
            heads[queue] = record
        tails[queue] = record
    for k in range(len(heap)):
        work_at[k], work_of[k] = heap[k]
    counts[WAITING], counts[OPENED], counts[RECORDS], counts[WORK] = waiting, opened, records, len(heap)
