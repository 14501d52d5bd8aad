"""check_abi finds what changed in the C interface, and passes the project itself."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/check_abi.py"
HEADER = """// An interface.
#include <stddef.h>
#include <stdint.h>
#define TM_API
#define TM_LIMIT 7 /* a number */
typedef enum tm_kind { TM_GOOD = 0, TM_BAD = 1 } tm_kind;
typedef struct tm_pair {
    size_t struct_size;
    uint32_t first; /* with; a semicolon */
    uint8_t bytes[4];
    int (*call)(void* self, uint64_t number);
} tm_pair;
TM_API int tm_one(tm_pair* pair); // the first
TM_API void tm_two(void);
"""


class CheckAbi(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "replay/c_api").mkdir(parents=True)
        self.header = self.root / "replay/c_api/tidemark.h"
        self.header.write_text(HEADER)
        self.check("--update")

    def check(self, *words):
        return subprocess.run([sys.executable, SCRIPT, "--root", self.root, *words],
                              capture_output=True, text=True, check=False)

    def test_the_project_passes(self):
        result = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True,
                                check=False)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)

    def test_what_is_listed(self):
        self.assertEqual((self.root / "replay/c_api/abi.txt").read_text().splitlines(), [
            "int tm_one(tm_pair* pair)", "void tm_two(void)", "TM_GOOD = 0", "TM_BAD = 1",
            "TM_LIMIT = 7", "struct tm_pair: 24 bytes", "      0 8   struct_size",
            "      8 4   first", "     12 4   bytes", "     16 8   call"])
        self.assertEqual(self.check().returncode, 0)

    def test_what_is_found(self):
        for before, after in [("uint32_t first;", "uint64_t first;"), ("TM_BAD = 1", "TM_BAD = 2"),
                              ("TM_LIMIT 7", "TM_LIMIT 8"), ("tm_two(void)", "tm_two(int number)"),
                              ("tm_one", "tm_three")]:
            with self.subTest(before):
                self.header.write_text(HEADER.replace(before, after))
                result = self.check()
                self.assertEqual(result.returncode, 1)
                self.assertIn("--update", result.stdout)

    def test_what_a_library_exports(self):
        library = self.root / "library.so"
        source = self.root / "library.c"
        source.write_text("int tm_one(void* p) { return p != 0; }\nvoid other(void) {}\n")
        subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library], check=True)
        result = self.check("--library", library)
        self.assertEqual(result.returncode, 1)
        self.assertIn("exports other, which", result.stdout)
        self.assertIn("doesn't export tm_two", result.stdout)
        self.assertNotIn("tm_one", result.stdout)


if __name__ == "__main__":
    unittest.main()
