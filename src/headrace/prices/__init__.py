"""Prices: what a turn costs, and estimates of the usage of turns that broke off."""

from headrace.prices.cost import find_cost, load_prices, price
from headrace.prices.turn_usage import TurnUsage

__all__ = ["TurnUsage", "find_cost", "load_prices", "price"]
