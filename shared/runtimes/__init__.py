"""The three runtimes: lab, embedded and live. They share engine and storage, and import nothing from each
other."""
