"""Collecting answers (extra ``nearer[collect]``): a study in a folder, and the server that asks."""
