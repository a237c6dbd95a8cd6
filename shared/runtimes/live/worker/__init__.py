"""The process that folds one service, pumped by Faust."""
