"""The container that trains: what SageMaker training jobs and Slurm steps start.

An entry point: it wires adapters. Training itself is not part of this version, and the container says so.
"""
