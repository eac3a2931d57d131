"""`python -m benchmarks.human`, see `benchmarks.human.run`: other processes find nothing of a main module."""

from benchmarks.human.run import main

if __name__ == "__main__":
    main()
