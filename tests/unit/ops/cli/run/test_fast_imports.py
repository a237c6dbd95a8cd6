"""Imports of long-lived processes: the garbage collector skips the created objects, then and later."""

import gc

import pytest

from ops.cli.run.gc_pause import gc_paused


def test_objects_made_while_gc_is_paused_are_frozen() -> None:
    before = gc.get_freeze_count()
    try:
        with gc_paused():
            assert not gc.isenabled()
            made: list[list[int]] = [[] for _ in range(1_000)]
        assert gc.isenabled()
        assert gc.get_freeze_count() >= before + len(made)
    finally:
        gc.unfreeze()


def test_an_import_that_fails_leaves_the_collector_on() -> None:
    try:
        with pytest.raises(ModuleNotFoundError), gc_paused():
            raise ModuleNotFoundError("faust")
        assert gc.isenabled()
    finally:
        gc.unfreeze()
