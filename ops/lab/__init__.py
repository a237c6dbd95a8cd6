"""The lab: fabrics in virtual time, replays, and recorded job traces."""
