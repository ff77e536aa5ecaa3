"""What knows no tensor: errors, settings, events, the disk cache, places in the user's code."""
