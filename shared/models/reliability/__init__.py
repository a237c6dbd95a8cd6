"""Machines that fail and crews that repair them, simulated where nothing else matters: with every machine's
history, plainly or compiled to the same bits; as mere counts of many replications at once; and by splitting
where what is asked for is too rare to wait for."""
