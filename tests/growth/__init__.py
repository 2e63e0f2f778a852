"""What the operations of a store cost, whatever is stored."""
