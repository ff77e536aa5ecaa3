"""Files of records of general use."""
