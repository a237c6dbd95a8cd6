"""What people see of the models without a twin: tables, pictures, pages."""
