"""Files that may be damaged or hostile: bounded reading, JSON schemas, arrays; files that appear whole."""
