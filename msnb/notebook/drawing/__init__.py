"""From a graph to SVG and JSON."""

from msnb.notebook.drawing.box_labels import shortened, title_of
from msnb.notebook.drawing.colors import ALARM, CARD, EDGE, INK, LINE_COLOUR, SOFT, look_of
from msnb.notebook.drawing.graph_picture import MOST_BOXES, picture_of
from msnb.notebook.drawing.node_groups import is_drawn
from msnb.notebook.drawing.overlays import Overlay, cost_overlays, ids_of
from msnb.notebook.drawing.picture_tree import Picture, alarm_groups, as_json
from msnb.notebook.drawing.svg_marks import escaped, number, rect, text
from msnb.notebook.drawing.svg_renderer import page, svg_of

__all__ = [
    "ALARM", "CARD", "EDGE", "INK", "LINE_COLOUR", "MOST_BOXES", "Overlay", "Picture", "SOFT", "alarm_groups",
    "as_json", "cost_overlays", "escaped", "ids_of", "is_drawn", "look_of", "number", "page", "picture_of", "rect",
    "shortened", "svg_of", "text", "title_of",
]  # fmt: skip
