"""What engine, runtimes and models alike stand on: errors, units, keyed random numbers, argument checks."""
