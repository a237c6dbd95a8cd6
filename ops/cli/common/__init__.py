"""What several commands share: options, parameter types, completion, output, tables."""
