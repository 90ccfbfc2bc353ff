"""What is measured: each module is started as a process of its own, does one piece of work and prints its figures.

The pieces have the same names in all modules. None of them imports the others, nor its SDK before the work begins.
"""
