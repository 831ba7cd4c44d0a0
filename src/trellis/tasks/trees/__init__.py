"""Constituency parsing: treebanks in brackets, grammars read off them, and parsers with weights of rules and spans."""
