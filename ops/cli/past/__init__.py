"""Commands that compare and search points in time, and fork a twin."""
