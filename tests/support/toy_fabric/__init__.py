"""A toy kind of fabric, a field of lamps on masts: this folder and one table row (`kind.LAMP_FIELD`)."""
