"""Components of a datacenter network and their names."""
