"""The OCS as a device: what its chassis is made of, how often that leaves circuits without light, and how its
mirrors find their places."""
