"""scripts/setup finds what is missing, installs exactly that, and says what to do when it cannot.

apt-get, dpkg-query, sudo and id are stand-ins that log how they were called.
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ["setup", "run", "test", "format"]


class Setup(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.bin = pathlib.Path(self.folder.name)
        self.log = self.bin / "log"
        self.log.write_text("")
        for tool in ("bash", "basename", "dirname", "readlink", "mktemp", "tail", "rm", "env", "sed", "cat"):
            self.bin.joinpath(tool).symlink_to(f"/usr/bin/{tool}")

    def stand_in(self, name, body):
        path = self.bin / name
        path.write_text(f'#!/usr/bin/env bash\n{body}\n')
        path.chmod(0o755)

    def machine(self, missing, user=0, sudo=False, network=True):
        """`missing` packages are not installed; the rest is."""
        self.stand_in("dpkg-query",
                      # Like the real one, it fails if it doesn't know a package.
                      'for word in "$@"; do case " %s " in *" $word "*) code=1 ;; '
                      '*) printf "installed:%%s " "$word";; esac; done; exit ${code:-0}'
                      % " ".join(missing))
        self.stand_in("id", f"echo {user}")
        failure = "echo 'Temporary failure resolving'; exit 100" if not network else "exit 0"
        self.stand_in("apt-get", f'echo "apt-get $*" >>{self.log}; {failure}')
        if sudo:
            self.stand_in("sudo", f'echo "sudo $1" >>{self.log}; "$@"')

    def setup_script(self, *arguments):
        result = subprocess.run(["/bin/bash", ROOT / "scripts/setup", *arguments], check=False,
                                capture_output=True, text=True, env={"PATH": str(self.bin)}, cwd="/")
        return result, self.log.read_text()

    def test_nothing_is_done_when_all_is_there(self):
        self.machine([])
        result, log = self.setup_script()
        self.assertEqual((result.returncode, result.stdout, result.stderr, log), (0, "", "", ""))

    def test_root_installs_exactly_what_is_missing_and_says_so(self):
        self.machine(["ninja-build", "libzstd-dev"])
        result, log = self.setup_script()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Installing with apt: ninja-build libzstd-dev\n", result.stderr)
        self.assertIn("apt-get update", log)
        self.assertRegex(log, r"apt-get install .*--no-install-recommends .*ninja-build libzstd-dev\n")
        self.assertNotIn("cmake", log)

    def test_others_use_sudo(self):
        self.machine(["cmake"], user=1000, sudo=True)
        result, log = self.setup_script()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("sudo apt-get\napt-get update", log)

    def test_without_root_and_sudo_the_command_for_root_is_shown(self):
        self.machine(["cmake", "catch2"], user=1000)
        result, log = self.setup_script()
        self.assertEqual(result.returncode, 1)
        self.assertIn("apt-get install --no-install-recommends cmake catch2", result.stderr)
        self.assertEqual(log, "")

    def run_script(self, *arguments):
        """scripts/run with a cmake that makes its targets of nothing; returns what it was told."""
        home = self.bin / "home"
        (home / "scripts").mkdir(parents=True)
        for name in ("scripts/run", "scripts/setup", "CMakePresets.json"):
            (home / name).write_bytes((ROOT / name).read_bytes())
        for tool in ("mkdir", "tr", "chmod"):
            self.bin.joinpath(tool).symlink_to(f"/usr/bin/{tool}")
        self.stand_in("cmake", f'echo "cmake $*" >>{self.log}\n'
                               f'mkdir -p {home}/build/release\n'
                               f'echo \'echo "ran $*"\' >{home}/build/release/tidemark\n'
                               f'chmod +x {home}/build/release/tidemark')
        result = subprocess.run(["/bin/bash", home / "scripts/run", *arguments], check=False,
                                capture_output=True, text=True, env={"PATH": str(self.bin)})
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout, self.log.read_text()

    def test_run_builds_the_viewer_where_it_is_needed(self):
        self.machine([])
        out, log = self.run_script("view", "x.pickle")
        self.assertIn("ran view x.pickle", out)
        self.assertRegex(log, r"--target tidemark tidemark-view\n")

    def test_run_builds_all_that_readme_promises_at_first(self):
        self.machine([])
        out, log = self.run_script()
        self.assertIn("ran compare ", out)
        self.assertRegex(log, r"--target tidemark tidemark-view\n")

    def test_run_builds_no_viewer_for_others(self):
        self.machine([])
        _, log = self.run_script("info", "x.pickle")
        self.assertRegex(log, r"--target tidemark\n")

    def test_without_a_network_it_says_what_is_missing(self):
        self.machine(["cmake"], network=False)
        result, _ = self.setup_script()
        self.assertEqual(result.returncode, 1)
        self.assertIn("could not install: cmake", result.stderr)
        self.assertIn("Is there a network?", result.stderr)
        self.assertIn("Temporary failure resolving", result.stderr)

    def test_checks_want_the_formatter_too(self):
        self.machine(["clang-format"])
        _, without = self.setup_script()
        _, log = self.setup_script("--checks")
        self.assertEqual(without, "")
        self.assertIn("clang-format", log)

    def test_every_script_has_help(self):
        for script in [f"scripts/{name}" for name in SCRIPTS] + [".ci/run"]:
            result = subprocess.run([ROOT / script, "--help"], capture_output=True, text=True,
                                    check=False, env=os.environ, cwd="/")
            self.assertEqual((script, result.returncode, result.stderr), (script, 0, ""))
            self.assertIn("Usage:", result.stdout)

    def test_unknown_options_are_refused(self):
        for script in ("scripts/setup", "scripts/format", ".ci/run"):
            result = subprocess.run([ROOT / script, "--frobnicate"], capture_output=True, text=True,
                                    check=False, env=os.environ, cwd="/")
            self.assertNotEqual(result.returncode, 0, script)
            self.assertIn("--frobnicate", result.stderr)


if __name__ == "__main__":
    unittest.main()
