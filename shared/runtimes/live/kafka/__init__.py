"""The log on Kafka: how a record looks, and who reads and appends it."""
