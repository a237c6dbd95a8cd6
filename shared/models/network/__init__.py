"""What a datacenter network is built of, and how its parts are called."""
