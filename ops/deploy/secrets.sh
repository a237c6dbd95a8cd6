#!/usr/bin/env bash
# Make what docker-compose.yml takes for secrets, where it is not there yet: ops/deploy/secrets.sh [FOLDER]
#
# Containers read the files as user 1000. Who is another user gives them away: sudo chown 1000 secrets/*
set -euo pipefail
umask 077

rights=$(tr '\n' ' ' < "$(dirname "$0")/redis-rights")
mkdir -p "${1:-secrets}"
cd "${1:-secrets}"
for name in token kafka-password redis-password; do
    [ -s "$name" ] || openssl rand -hex 24 > "$name"
done

# What Kafka and Redis know of the passwords; made anew from them each time.
kafka=$(cat kafka-password)
cat > kafka-jaas << END
KafkaServer {
  org.apache.kafka.common.security.plain.PlainLoginModule required
  username="twin" password="$kafka" user_twin="$kafka";
};
END
digest=$(printf %s "$(cat redis-password)" | openssl dgst -sha256 -r | cut -d ' ' -f 1)
printf 'user default off\nuser twin on #%s %s\n' "$digest" "$rights" > redis-users
chmod 644 redis-users # of digests only, and read by another user
