"""Places that training pictures come from, each read one picture at a time, again as often as asked.

A folder, a table that names files, a zip, WebDataset tars, and the last three and a prefix in S3 as well. What a place
holds besides pictures and their captions is told, not skipped in silence.
"""
