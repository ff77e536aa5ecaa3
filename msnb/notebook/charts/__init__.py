"""From numbers to SVG and HTML."""
