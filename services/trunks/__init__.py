"""The links between the blocks of a network: which circuits carry traffic, and which are fit to."""
