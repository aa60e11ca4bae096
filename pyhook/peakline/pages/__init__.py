"""Pages and figures: the HTML page of a trace, its data as arrays, and plots of them."""
