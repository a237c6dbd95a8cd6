"""What all commands stand on: the twin's client, configuration, text, logs."""
