"""Atomic files, compression, secret files, folder locks and file descriptor limits."""
