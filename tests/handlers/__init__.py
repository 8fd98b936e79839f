"""Functions as the cloud calls them: with events, and with fakes behind the ports."""
