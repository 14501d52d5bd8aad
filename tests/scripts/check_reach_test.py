"""check_reach finds what no program and no example leads to, and passes the project itself."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/check_reach.py"


class CheckReach(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.plant("replay/app/main.cpp", '#include "core/used.h"\n')
        self.plant("core/used.h", '#include "core/list.inc"\n')
        self.plant("core/used.cpp", '#include "core/used.h"\n#include "core/inner.h"\n')
        self.plant("core/inner.h", "")
        self.plant("core/inner_part.cpp", '#include "core/inner.h"\n')
        self.plant("core/list.inc", "TIDEMARK_POLICY(listed)\n")
        self.plant("core/listed.cpp", "")

    def plant(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def check(self, root=None):
        return subprocess.run([sys.executable, SCRIPT, "--root", root or self.root],
                              capture_output=True, text=True, check=False)

    def test_the_project_passes(self):
        result = self.check(ROOT)
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_what_a_program_leads_to_passes(self):
        result = self.check()
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_what_only_tests_use_is_found(self):
        self.plant("core/alone.h", "")
        self.plant("core/alone.cpp", '#include "core/alone.h"\n#include "core/used.h"\n')
        self.plant("tests/core/alone_test.cpp", '#include "core/alone.h"\n')
        result = self.check()
        self.assertEqual(result.returncode, 1)
        self.assertEqual([line.split(":")[0] for line in result.stdout.splitlines()],
                         ["core/alone.cpp", "core/alone.h"])

    def test_an_enumerator_and_a_virtual_that_only_tests_name_are_found(self):
        self.plant("core/used.h", """#include "core/list.inc"
enum class Colour { red, green = 2, blue };  // blue: no use
struct Base { virtual int drawn() = 0; virtual int forgotten(); };
""")
        self.plant("core/used.cpp", """#include "core/used.h"
#include "core/inner.h"
int sum(Base& base) { return base.drawn() + int(Colour::red) + int(Colour::green); }
""")
        self.plant("tests/core/used_test.cpp", "int x = int(Colour::blue) + base.forgotten();")
        result = self.check()
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout.splitlines(),
                         [f"core/used.h: nothing in the product names {one}; use it or delete it"
                          for one in ("blue", "forgotten")])

    def test_an_option_that_only_tests_set_is_found(self):
        self.plant("core/inner.h", """struct InnerOptions {
    int depth = 3;  // set below
    bool forgotten = false;
};
""")
        self.plant("core/inner_part.cpp", '#include "core/inner.h"\nint x = inner({.depth = 4});\n')
        self.plant("tests/core/inner_test.cpp", "int x = inner({.forgotten = true});")
        result = self.check()
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout.count("\n"), 1, result.stdout)
        self.assertIn("core/inner.h: nothing in the product sets InnerOptions::forgotten", result.stdout)

    def test_an_example_is_a_user(self):
        self.plant("core/alone.h", "")
        self.plant("core/alone.cpp", '#include "core/alone.h"\n')
        self.plant("examples/alone.cpp", "#include <tidemark/core/alone.h>\n")
        self.assertEqual(self.check().returncode, 0)

    def test_a_header_of_the_c_library_is_named_without_its_folder(self):
        self.plant("replay/c_api/alone.h", "")
        self.assertIn("replay/c_api/alone.h", self.check().stdout)
        self.plant("examples/alone.cpp", "#include <tidemark/alone.h>\n")
        self.assertEqual(self.check().returncode, 0)

    def test_what_no_list_names_is_found(self):
        self.plant("core/unlisted.cpp", "")
        self.assertIn("core/unlisted.cpp", self.check().stdout)


if __name__ == "__main__":
    unittest.main()
