"""check_style finds one planted fault of each kind, and passes the project itself."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/check_style.py"


class CheckStyle(unittest.TestCase):
    def check(self, path=None, text=None):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            if path:
                (root / path).parent.mkdir(parents=True)
                (root / path).write_text(text)
            return subprocess.run([sys.executable, SCRIPT, "--root", root if path else ROOT],
                                  capture_output=True, text=True, check=False)

    def finds(self, path, text, line, cure):
        result = self.check(path, text)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn(f"{path}:{line}: ", result.stdout)
        self.assertIn(cure, result.stdout)

    def hints(self, path, text, line, cure):
        result = self.check(path, text)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(f"{path}:{line}: hint: ", result.stdout)
        self.assertIn(cure, result.stdout)

    def passes(self, path, text):
        result = self.check(path, text)
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_the_project_passes(self):
        result = self.check()
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_python_is_checked(self):
        self.passes("python/a.py", '"""x."""\n')
        self.finds("python/a.py", "a = 1\n", 1, "docstring")
        self.finds("python/a.py", '"""x."""\n' + "a = 1  # " + "x" * 100 + "\n", 2, "columns")
        self.finds("tests/python/a.py", '"""x."""\nasked_size = 1\n', 2, "requested")

    def test_chance_is_found(self):
        self.finds("core/a.cpp", "// x\nint a = std::rand();\n", 2, "core/base/random.h")

    def test_clocks_are_found_outside_their_homes(self):
        line = "// x\nauto t = std::chrono::steady_clock::now();\n"
        self.finds("replay/engine/a.cpp", line, 2, "core/base/stopwatch.h")
        self.passes("replay/cli/a.cpp", line)
        self.passes("core/base/stopwatch.h", line.replace("// x\n", "// x\n#pragma once\n"))

    def test_printing_is_found_outside_its_homes(self):
        self.finds("replay/report/a.cpp", '// x\nstd::cout << "a";\n', 2, "only replay/cli prints")
        self.finds("core/a.cpp", '// x\nstd::fprintf(stderr, "a");\n', 2, "only replay/cli prints")
        self.passes("core/base/check.cpp", '// x\nstd::fprintf(stderr, "a");\n')
        self.passes("core/a.cpp", '// x\nauto text = "std::cout";  // no printf(here)\n')

    def test_a_terminal_is_written_to_in_one_place(self):
        line = "// x\nstatic_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));\n"
        self.finds("replay/cli/a.cpp", line, 2, "printable()")
        self.passes("replay/cli_support/terminal.cpp", line)

    def test_threads_are_found_outside_their_home(self):
        for line in ("std::thread a(f);", "std::jthread a(f);", "auto a = std::async(f);"):
            self.finds("viz/live/a.cpp", f"// x\n{line}\n", 2, "core/base/threads.h")
            self.passes("core/base/threads.cpp", f"// x\n{line}\n")
            self.passes("tests/a.cpp", f"// x\n{line}\n")
        self.passes("viz/live/a.cpp", "// x\nstd::this_thread::yield();\n")

    def test_throwing_is_found(self):
        self.finds("traces/a.cpp", "// x\nthrow 1;\n", 2, "return an Error")

    def test_unfinished_work_is_found_even_in_tests(self):
        mark = "TO" + "DO"
        self.finds("tests/a.cpp", f"// x\n// {mark}: later\n", 2, "open an issue")

    def test_names_that_say_nothing_are_found(self):
        for name in ("util.h", "string_helpers.cpp", "common.h", "block_v2.cpp"):
            text = "// x\n#pragma once\n"
            self.finds(f"core/{name}", text, 1, "name the file for what it holds")

    def test_files_need_a_first_comment_and_headers_a_guard(self):
        self.finds("core/a.cpp", "int a;\n", 1, "begin with a comment")
        self.finds("core/a.h", "// x\nint a;\n", 1, "#pragma once")
        self.finds("core/a.h", "", 1, "empty")

    def test_long_files_lines_and_functions_are_found(self):
        self.hints("core/a.cpp", "// x\n" + "int a;\n" * 600, 1, "601 lines")
        self.finds("core/a.cpp", "// x\n// " + "y" * 98 + "\n", 2, "101 columns")
        body = "    work();\n" * 69
        self.passes("core/a.cpp", "// x\nvoid a(int b,\n       int c) {\n" + body[:-12] + "}\n")
        self.hints("core/a.cpp", "// x\nvoid a(int b,\n       int c) {\n" + body + "}\n", 3, "71 lines")

    def test_classes_with_many_methods_are_found(self):
        methods = "".join(f"    int m{i}(int a,\n           int b) {{\n        return a;\n    }}\n"
                          for i in range(46))
        self.hints("core/a.h", "// x\n#pragma once\nclass A {\n" + methods + "};\n", 3, "46 methods")
        others = "    A();\n    ~A();\n    std::function<void(int)> f;\n    int o() const override;\n"
        self.passes("core/a.h", "// x\n#pragma once\nclass A {\n" + others + methods[methods.index("int m1("):] + "};\n")

    def test_private_words_are_found_in_names_and_not_in_text(self):
        part = "tell"
        self.finds("core/a.cpp", f"// x\nvoid {part}_it();\n", 2, "docs/glossary.md")
        self.finds("core/a.cpp", f"// x\nstruct {part.title()}It;\n", 2, "docs/glossary.md")
        self.passes("core/a.cpp", f'// {part} it\nint in{part}ect = size("{part}");\n')

    def test_phrases_that_are_not_the_fields_are_found_in_prose(self):
        self.finds("docs/a.md", "# A\n\nThe file is written\nover with --force only.\n", 3,
                   "is overwritten")
        self.finds("core/a.cpp", "// The peak at the\n// begin of the run.\n", 1, "start")
        self.finds("core/a.cpp", '// x\nauto a = fmt::format("{} granted (none "\n    "in all)");\n',
                   3, "in total")
        self.finds("python/a.py", '"""Says what lived then."""\n', 1, "what was live")
        self.passes("docs/a.md", "Run `cut` at the start.\n\n```\nwhat lived then\n```\n")
        self.passes("core/a.cpp", "// Ranges begin where the last one ends.\n")


if __name__ == "__main__":
    unittest.main()
