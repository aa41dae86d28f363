"""How fast, over how many tools, and how far from what the machine could do at best."""
