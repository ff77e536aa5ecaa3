"""The intermediate representation that both engines write and every tool reads."""

import msnb.ir.text.printer  # registers what str(graph) gives
