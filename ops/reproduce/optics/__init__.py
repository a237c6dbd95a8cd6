"""Claims of the papers about OCSes, modules and links."""
