"""Output of the models without a twin: tables, charts and pages."""
