"""The notebook: magics, views of programs, errors without internal frames. The only room that imports IPython.

``%load_ext msnb`` comes here through ``msnb.load_ipython_extension``.
"""
