"""What the business logic needs from outside, one Protocol a file.

An adapter translates its vendor's errors at the call into ``services.domain.errors``.
"""
