"""Commands that compute models without a twin."""
