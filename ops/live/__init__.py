"""`lightwave live`: the processes of a twin on Kafka and Redis, and what people ask of them."""
