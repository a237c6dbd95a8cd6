"""The OCS as a device: what its chassis is made of, and how often that leaves circuits without light."""
