"""What changed in a contract, who accepted it and who gets it: differences, revisions, quarantine, roll-out."""
