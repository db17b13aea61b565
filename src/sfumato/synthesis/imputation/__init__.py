"""Imputation: columns drawn from models of each given others, for new rows, chosen cells or gaps."""
