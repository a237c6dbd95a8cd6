"""The living twin in one process: its data folder, its server, its audit."""
