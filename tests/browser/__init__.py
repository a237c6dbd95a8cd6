"""Tests that need a browser: `make browser` installs Debian's Chromium."""
