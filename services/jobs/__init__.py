"""What runs on the slices: jobs with steps, checkpoints and restarts, and what their time goes to."""
