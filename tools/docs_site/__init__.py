"""The documentation site, made from what the project says of itself: docstrings, records, guides, notebooks, errors.

    catalogue        what is public, in sections                guides          docs/*.md and the other Markdown
    docstrings       a docstring as Markdown                    notebook_pages  notebooks with their saved outputs
    example_calls    the call that an example shows             name_tables     MindSpore's and PyTorch's names
    record_facts     types, axes, mistakes of an operator       page_links      links between pages
    gradients        the gradient of an operator, drawn         config          what MkDocs is told
    entry_page       one function or class                      link_check      every link of the built site
    section_pages    the lists of the sections                  build           all: python -m tools.docs_site.build
"""
