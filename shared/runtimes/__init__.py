"""The three runtimes: lab, embedded and live. They share engine and storage, and nothing of each other."""
