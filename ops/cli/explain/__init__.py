"""Commands that explain why something happened or waits."""
