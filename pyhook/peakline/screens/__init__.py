"""Views that stay on the screen: a running program, and the tree of stacks."""
