"""check_layers finds planted violations, each kind of them, and passes the project itself."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/check_layers.py"

TABLE = """
```arrows
core/base      ->
core/device    -> core/base
core/regions   -> core/device
core/policies  -> core/regions
replay/cli_support   -> core/policies
replay/cli     -> replay/cli_support
tests          -> replay/cli_support
```
```programs
replay/cli     -> tidemark
```
```homes
CLI/     -> replay/cli
imgui    -> viz
```
```faces
replay/cli     -> for_each_live
```
"""


class CheckLayers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.plant("docs/architecture.md", TABLE)
        self.plant("core/policies/policies.inc", "TIDEMARK_POLICY(torch)\nTIDEMARK_POLICY(buddy)\n")

    def plant(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def check(self, root=None):
        return subprocess.run([sys.executable, SCRIPT, "--root", root or self.root],
                              capture_output=True, text=True, check=False)

    def finds(self, path, include, cure):
        self.plant(path, f"// x\n#include {include}\n")
        result = self.check()
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn(f"{path}:2: ", result.stdout)
        self.assertIn(cure, result.stdout)

    def test_the_project_passes(self):
        result = self.check(ROOT)
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_figures_computed_in_a_face_are_found(self):
        self.plant("replay/cli/a.cpp", "// for_each_live() is not called here\n  history.for_each_live(3, f);\n")
        self.plant("core/policies/b.cpp", "  history.for_each_live(3, f);\n")
        result = self.check()
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertEqual(result.stdout.count("\n"), 1, result.stdout)
        self.assertIn("replay/cli/a.cpp:2: ", result.stdout)

    def test_types_of_folders_above_are_found(self):
        self.plant("core/policies/a.h", "// x\nstruct Above {\n};\n")
        self.plant("core/base/b.h", "// x\nstruct Above;\n")
        result = self.check()
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("core/base/b.h:2: core/base may not know Above", result.stdout)
        self.plant("core/base/b.h", "// x\nstruct Unknown;\n")
        self.plant("replay/cli/c.h", "// x\nstruct Above;\n")
        self.assertEqual(self.check().returncode, 0)

    def test_includes_along_the_arrows_pass(self):
        self.plant("core/base/a.h", "#include <vector>\n")
        self.plant("core/device/a.h", '#include "core/base/a.h"\n')
        self.plant("core/policies/torch.cpp", '#include "core/base/a.h"\n#include "core/policies/torch_parts.h"\n')
        self.plant("replay/cli/main.cpp", '#include <CLI/CLI.hpp>\n#include "core/device/a.h"\n')
        self.plant("tests/x_test.cpp", '#include "replay/cli_support/a.h"\n')
        result = self.check()
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_an_include_against_the_arrows_is_found(self):
        self.finds("core/base/a.h", '"core/device/device.h"', "core/base may not include core/device")

    def test_a_test_header_in_the_product_is_found(self):
        self.finds("core/device/a.cpp", '"tests/support/a.h"', "may not include tests")

    def test_a_program_that_is_included_is_found(self):
        self.finds("tests/x_test.cpp", '"replay/cli/a.h"', "tests may not include replay/cli")

    def test_an_arrow_to_a_program_is_an_error(self):
        self.plant("docs/architecture.md", TABLE.replace("-> replay/cli_support\n```", "-> replay/cli\n```"))
        result = self.check()
        self.assertEqual(result.returncode, 2)
        self.assertIn("tests -> replay/cli, which is the program tidemark", result.stderr)

    def test_a_policy_that_includes_another_is_found(self):
        self.finds("core/policies/torch_parts.cpp", '"core/policies/buddy.h"',
                   "policy torch includes policy buddy")

    def test_a_foreign_header_away_from_home_is_found(self):
        self.finds("core/device/a.cpp", "<CLI/CLI.hpp>", "belongs to replay/cli")
        self.finds("core/device/a.cpp", '"imgui.h"', "belongs to viz")

    def test_a_relative_include_is_found(self):
        self.finds("core/device/a.cpp", '"a.h"', "from the root")

    def test_a_folder_without_an_arrow_is_found(self):
        self.finds("core/secret/a.cpp", "<vector>", "has no arrow")

    def test_a_circle_in_the_table_is_an_error(self):
        self.plant("docs/architecture.md", TABLE.replace("core/base      ->", "core/base -> core/regions"))
        result = self.check()
        self.assertEqual(result.returncode, 2)
        self.assertIn("a circle", result.stderr)


if __name__ == "__main__":
    unittest.main()
