"""Configuration of a fabric, one module a topic, and the parameters that may change at run time."""
