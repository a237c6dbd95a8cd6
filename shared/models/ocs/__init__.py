"""The OCS as a device: parts of its chassis, availability of its circuits, and alignment of its mirrors."""
