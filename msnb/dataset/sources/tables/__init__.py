"""What all data sets that lie in files of a layout share."""
