"""What must hold of the repository as a whole: who imports whom, what is named how, what the documents say."""
