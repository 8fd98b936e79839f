"""What makes a file say that it is AI-made: marks in its metadata, Content Credentials, and the reader of both.

Three marks, and each output of the product carries all of them (``docs/disclosure.md`` says which law asks for what):

- ``marks``: the digital source type of IPTC and the AIGC label of GB 45438-2025, as XMP and as a container's tag;
- ``credentials``: a C2PA manifest, signed by ``services.ports.signer``;
- ``inspection``: reads all of it back, from any file, and says what is intact.

The visible label is drawn with the picture and lives in ``models.video.label``. Who makes a new kind of file writes it
with its ``Marks`` (``pictures.save_picture``, ``VideoWriter(metadata=...)`` and ``boxes.append_xmp``) and hands it to
``credentials.sign_file``. No model is run and no frame is drawn here.
"""
