"""Configuration of a fabric. The meaning of each parameter is its description in the module of its section;
`runtime_parameters.py` has the map of sections, and the parameters that may change at run time."""
