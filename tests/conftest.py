"""Fixtures of every folder of tests: servers that are started when a test first asks for them."""

import signal
import threading

from tests.support.live_servers import kafka, live_redis

__all__ = ["kafka", "live_redis"]

# A shell lets what it starts in the background ignore Ctrl-C, and so do all that this starts: tests send it.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
