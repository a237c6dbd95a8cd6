"""Reports, pages and benchmarks of the optics."""
