"""Local Kafka and Redis servers on this machine, for trials and tests."""
