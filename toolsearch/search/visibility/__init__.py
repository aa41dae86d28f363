"""Principal and rules -> Decision -> DocSet. Imports neither index, rank nor embed."""
