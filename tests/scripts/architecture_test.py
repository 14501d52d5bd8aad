"""docs/architecture.md's ways name functions that are where they are said to be."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/architecture.md").read_text()
ROW = re.compile(r"^\| [^|]+\| ([^|]*`[^|]*) \| ([^|]*`[^|]*) \|$", re.MULTILINE)


def ways():
    """(functions, files) of each row of the three ways."""
    section = TEXT[TEXT.index("## Three ways"):TEXT.index("## Interfaces")]
    for functions, files in ROW.findall(section):
        yield re.findall(r"`([^`]+)`", functions), re.findall(r"`([^`]+)`", files)


class Architecture(unittest.TestCase):
    def test_each_function_is_in_a_file_of_its_row(self):
        rows = list(ways())
        self.assertGreater(len(rows), 25)
        for functions, files in rows:
            text = "".join((ROOT / name).read_text() for name in files)
            for function in functions:
                name = function.split("::")[-1]
                self.assertTrue(re.search(rf"\b{name}\(", text), f"{function} is not in {files}")

    def test_each_file_of_a_row_has_one_of_its_functions(self):
        for functions, files in ways():
            names = "|".join(function.split("::")[-1] for function in functions)
            for name in files:
                text = (ROOT / name).read_text()
                self.assertTrue(re.search(rf"\b({names})\(", text), name)


if __name__ == "__main__":
    unittest.main()
