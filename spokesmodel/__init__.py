"""The one-machine runner and the command line. Reads ``template.yaml``, so that laptop and cloud cannot drift apart."""
