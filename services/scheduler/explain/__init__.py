"""What people ask of the scheduler, answered by the functions that decide."""
