"""The engine container: ``/ping``, ``/invocations``, events, cancel, and the tasks it runs.

An entry point: it wires adapters.
"""
