"""`lightwave drill`: the commands about drills."""
