"""From a call typed by the user to a graph, and to a run that is looked at."""
