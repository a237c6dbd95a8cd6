"""What people see of a datacenter network without a twin: its file checked, plans, weights, pictures."""
