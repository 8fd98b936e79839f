"""The engine container: ``/ping``, ``/invocations``, events, cancel, and the tasks it runs.

An entry point: it wires adapters. It holds no job table: what it may touch is the object store, and there only what
lies under the job that it was given.
"""
