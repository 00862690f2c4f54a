"""Stored runs that something is wrong with: files damaged, tables changed and sealed anew."""
