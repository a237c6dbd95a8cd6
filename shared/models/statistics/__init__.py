"""What figures of runs say, and how surely: intervals, differences, and how many runs it takes.

Textbook methods (Law, Simulation Modeling and Analysis, 5th ed., ch. 9 to 11) on plain arrays.
"""
