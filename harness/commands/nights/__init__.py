"""The commands compare and campaign --nights: tonight's runs, and those of the nights before."""
