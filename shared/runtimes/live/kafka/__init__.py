"""The log on Kafka: records, readers and the appender."""
