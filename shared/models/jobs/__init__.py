"""Jobs on slices: their progress and how their time was used."""
