"""Atomic files, compression, secret files, folder locks and limits of file descriptors."""
