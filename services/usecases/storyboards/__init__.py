"""Requests become storyboards, one module a kind: each copies what the request names into the job's own objects.

``table.PREPARERS`` says which module serves which kind; what all of them work with is ``preparation.Preparation``.
"""
