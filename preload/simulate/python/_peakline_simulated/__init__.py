"""What a simulated run changes in Python. Loaded by sitecustomize.py in the program itself."""
