"""Control flow under capture: truth of a value, branches, loops, match statements, nested traces."""
