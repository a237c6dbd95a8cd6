"""The swarm: draws drills, runs them in the lab, and keeps those in which the product is at fault."""
