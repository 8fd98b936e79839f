"""The REST API: thin routes over ``services.usecases``.

``lambda_handler`` takes API Gateway events (payload 2.0), in the cloud from API Gateway and on one machine from
``spokesmodel.bridge``. ``routes`` has a module for each resource, ``schemas`` the bodies. No rule of the business
lives here, and nothing of a request outlives its answer.
"""

from lambdas.api.app import lambda_handler

__all__ = ["lambda_handler"]
