"""Collecting answers: a study in a folder, the server that asks, the file that `nearer fit` reads.

Needs the extra ``nearer[collect]``. Nothing of it is imported by `import nearer`.
"""
