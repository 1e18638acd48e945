"""The rules of the classifier as TOML files; `btm.classify.rules` reads them."""
