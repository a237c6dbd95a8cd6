#!/usr/bin/env bash
# Create the missing secrets for docker-compose.yml: ops/deploy/secrets.sh [FOLDER]
#
# Containers read the files as user 1000. If you are a different user: sudo chown 1000 secrets/*
set -euo pipefail
umask 077

rights=$(tr '\n' ' ' < "$(dirname "$0")/redis-rights")
mkdir -p "${1:-secrets}"
cd "${1:-secrets}"
for name in token kafka-password redis-password; do
    [ -s "$name" ] || openssl rand -hex 24 > "$name"
done

# The digests of the passwords for Kafka and Redis; created again on each run.
kafka=$(cat kafka-password)
cat > kafka-jaas << END
KafkaServer {
  org.apache.kafka.common.security.plain.PlainLoginModule required
  username="twin" password="$kafka" user_twin="$kafka";
};
END
digest=$(printf %s "$(cat redis-password)" | openssl dgst -sha256 -r | cut -d ' ' -f 1)
printf 'user default off\nuser twin on #%s %s\n' "$digest" "$rights" > redis-users
chmod 644 redis-users # contains digests only, and another user reads it
