"""What the papers state, computed anew and put side by side: `lightwave reproduce`."""
