"""Names below MindSpore's private paths that programs import."""
