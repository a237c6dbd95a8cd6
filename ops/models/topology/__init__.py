"""Slices drawn and measured: what stands behind `lightwave topology`."""
