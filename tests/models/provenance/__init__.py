"""Marks, Content Credentials and their reader, on small files made here."""
