"""What every service stands on: geometry, draws, the log, state, dispatch and the runtimes. Knows no service
by name.
"""
