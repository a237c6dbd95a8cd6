"""`lightwave live`: the processes of a twin on Kafka and Redis, and the commands that operate it."""
