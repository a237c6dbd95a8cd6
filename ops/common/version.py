"""The version that every result carries."""

from importlib.metadata import version

VERSION = version("lightwave-twin")
