"""Runs one SMT-LIB file with a solver of a Python package, as the solver's own program does: these packages have no program.

usage: solver.py cvc5|bitwuzla FILE | --version
"""

import sys
from importlib.metadata import version


def run_cvc5(path: str) -> None:
    import cvc5

    solver = cvc5.Solver(cvc5.TermManager())
    parser = cvc5.InputParser(solver)
    parser.setFileInput(cvc5.InputLanguage.SMT_LIB_2_6, path)
    symbols = parser.getSymbolManager()
    while not (command := parser.nextCommand()).isNull():
        print(command.invoke(solver, symbols), end="", flush=True)


def run_bitwuzla(path: str) -> None:
    import bitwuzla

    bitwuzla.Parser(bitwuzla.TermManager(), bitwuzla.Options()).parse(path)


def main() -> int:
    name, argument = sys.argv[1:]
    if argument == "--version":
        print(name, version(name))
    else:
        {"cvc5": run_cvc5, "bitwuzla": run_bitwuzla}[name](argument)
    return 0


if __name__ == "__main__":
    sys.exit(main())
