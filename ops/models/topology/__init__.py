"""Drawings and figures of slices for `lightwave topology`."""
