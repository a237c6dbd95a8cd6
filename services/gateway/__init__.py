"""The twin's face to people: status documents, the log, the inbox and the clock, as things, histories and
requests. Owns nothing, and knows of no way in which it is asked: `http/` is one."""
