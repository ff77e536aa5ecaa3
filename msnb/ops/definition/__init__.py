"""What an operator record is, and the checks that all families share."""
