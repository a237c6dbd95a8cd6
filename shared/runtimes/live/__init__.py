"""The live runtime: one process per service, one log on Kafka, states in Redis.

A worker commits its service's changes in one fenced transaction and publishes nothing. Only the sequencer
appends to the log. Both are plain loops around a port; Faust only delivers records.
"""
