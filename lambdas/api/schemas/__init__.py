"""Bodies of requests and answers: pydantic models that also are the API's documentation.

Requests refuse unknown fields and wrong types; ranges stand here so that OpenAPI shows them, rules that need more
than one value are in ``services.usecases``. Nothing here decides anything.
"""
