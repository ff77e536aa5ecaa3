"""The documentation site, made from what the project says of itself: docstrings, records, guides, notebooks, errors.

catalogue        what is public, in sections                 guides        docs/*.md and other Markdown, links rewritten
docstrings       a docstring as Markdown                     notebooks     notebooks/*.ipynb with their saved outputs
example_calls    the call that an example shows              name_tables   MindSpore's and PyTorch's names
record_facts     types, axes, mistakes of an operator        config        what MkDocs is told
gradients        the gradient of an operator, drawn          link_check    every link and anchor of the built site
entry_page       one function or class                       build         all of it: python -m tools.docs_site.build
section_pages    the lists of the sections
"""
