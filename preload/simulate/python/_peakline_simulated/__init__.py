"""Changes to Python in a simulated run. Loaded by sitecustomize.py in the program itself."""
