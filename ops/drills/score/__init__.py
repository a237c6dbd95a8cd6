"""The score of a drill, from the messages of its log."""
