"""Statistics of simulation runs: intervals, differences, and the number of runs needed.

Textbook methods (Law, Simulation Modeling and Analysis, 5th ed., ch. 9 to 11) on plain arrays.
"""
