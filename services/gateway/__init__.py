"""The gateway of a twin: status documents, the log, the inbox and the clock, as resources, history and
requests. It owns no state and does not depend on a protocol; `http/` is one."""
