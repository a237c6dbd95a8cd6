"""The worker process: folds one service; Faust delivers its records."""
