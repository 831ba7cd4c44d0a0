"""Ways into trellis: command line, server, studio, scikit-learn, spaCy, the interfaces and files of other tools."""
