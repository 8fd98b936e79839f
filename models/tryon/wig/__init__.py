"""A wig on a portrait: taken in once from its photo, fitted to the head, lit as the sitter is, turned."""
