"""The REST API through its handler, against the fakes and against its own OpenAPI document."""
