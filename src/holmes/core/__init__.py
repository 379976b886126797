"""Words and seams that everybody shares. Imports nothing of ours."""
