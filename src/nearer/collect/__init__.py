"""Collecting answers (extra ``nearer[collect]``): a study in a folder, the server that asks, its file of answers."""
