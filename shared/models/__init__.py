"""Models of the hardware and workloads: pure functions over numbers and arrays, without runtime, store or
log."""
