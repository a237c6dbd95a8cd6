"""The claims of the papers, computed again and compared: `lightwave reproduce`."""
