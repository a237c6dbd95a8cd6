"""Fixtures of every folder of tests: servers that are started when a test first asks for them."""

from tests.support.live_servers import kafka, live_redis

__all__ = ["kafka", "live_redis"]
