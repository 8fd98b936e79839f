"""Media files in and out: decoding, framing, backgrounds, subtitles, encoding.

The one place in ``models`` where files are opened.
"""
