"""The live runtime: services as processes of their own, one log on Kafka, states in Redis.

A worker commits what its service did in one fenced transaction and publishes nothing; the sequencer alone
appends to the log. Both are plain loops around a port; Faust only pumps.
"""
