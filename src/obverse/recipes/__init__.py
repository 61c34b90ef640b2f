"""Recipes: a paper's experiment as a readable list of arms, run cell by cell into one page."""
