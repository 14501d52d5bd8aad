#!/usr/bin/env python3
"""What `cmake --install` leaves is a library that programs outside of the tree can use.

Installs a build into a temporary prefix, moves that elsewhere (nothing may remember the first
place), and builds and runs examples/ against it; then one program by pkg-config; puts the Python
package together as a wheel does; and reads the tree as a part of another project, which must not
get our warnings, tests or programs.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

OPTIONS = argparse.Namespace()


def run(*words, **options):
    """Runs a command; its whole output is the failure's text."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, words))}\n{done.stdout}")
    return done.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tidemark-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        run("cmake", "--install", OPTIONS.build, "--prefix", cls.folder / "first")
        cls.prefix = cls.folder / "prefix"
        (cls.folder / "first").rename(cls.prefix)
        cls.environment = {**os.environ, "CMAKE_PREFIX_PATH": str(cls.prefix)}

    def headers(self):
        return sorted((self.prefix / "include").rglob("*.h"))

    def test_examples(self):
        """Every example builds without a warning and runs."""
        build = self.folder / "examples"
        run("cmake", "-S", OPTIONS.source / "examples", "-B", build, "-G", "Ninja",
            "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror",
            env=self.environment)
        run("cmake", "--build", build)
        run("ctest", "--test-dir", build, "--output-on-failure", "-j", "2")
        policy = run(self.prefix / "bin" / "tidemark", "policies", build / "libown_policy.so")
        self.assertIn("larger pieces are not kept", policy)

    def test_recorder(self):
        """`tidemark record` finds its library."""
        said = run(self.prefix / "bin" / "tidemark", "record", "--", "true")
        self.assertIn("nothing was recorded", said)

    def test_page(self):
        """`tidemark page` finds its page, where that is built."""
        if not (OPTIONS.source / "build" / "tidemark.html").exists():
            self.skipTest("scripts/make-page has not built it")
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("DISPLAY", "WAYLAND_DISPLAY", "TIDEMARK_PAGE")}
        said = run(self.prefix / "bin" / "tidemark", "page", env=environment)
        self.assertEqual(said.strip(), str(self.prefix / "share" / "tidemark" / "tidemark.html"))

    def test_headers(self):
        """All headers together, as users name them; each knows others by that name only."""
        source = self.folder / "all.cpp"
        names = [header.relative_to(self.prefix / "include") for header in self.headers()]
        self.assertGreater(len(names), 50)
        source.write_text("".join(f"#include <{name}>\n" for name in names))
        run("g++", "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
            f"-I{self.prefix / 'include'}", source)
        for header in self.headers():
            for name in re.findall(r'#include "([^"]+)"', header.read_text()):
                self.assertTrue((self.prefix / "include" / name).is_file(), f"{header}: {name}")

    def test_every_public_header_is_used(self):
        """By an example or a test that names it, or by a public header that one of them needs."""
        include = self.prefix / "include"
        used = set()
        open_names = set()
        for example in (OPTIONS.source / "examples").glob("*.c*"):
            open_names |= set(re.findall(r"#include <(tidemark/[^>]+)>", example.read_text()))
        while open_names:
            name = open_names.pop()
            if name not in used:
                used.add(name)
                open_names |= set(re.findall(r'#include "([^"]+)"', (include / name).read_text()))
        unused = [str(header.relative_to(include)) for header in self.headers()
                  if str(header.relative_to(include)) not in used]
        self.assertEqual(unused, [], "add an example that uses them, or don't install them")

    def test_pkg_config(self):
        """One program, without CMake."""
        environment = {**os.environ, "PKG_CONFIG_PATH": ":".join(
            str(folder) for folder in self.prefix.rglob("pkgconfig"))}
        flags = run("pkg-config", "--static", "--cflags", "--libs",
                    f"--define-variable=prefix={self.prefix}", "tidemark-replay",
                    env=environment).split()
        program = self.folder / "replay"
        run("g++", OPTIONS.source / "examples" / "replay.cpp", "-o", program, *flags)
        libraries = ":".join(str(path.parent) for path in self.prefix.rglob("libtidemark*.so"))
        said = run(program, env={**os.environ, "LD_LIBRARY_PATH": libraries})
        self.assertIn("peak_reserved_bytes", said)

    def test_pkg_config_of_c(self):
        """One C program, with a C compiler."""
        environment = {**os.environ, "PKG_CONFIG_PATH": ":".join(
            str(folder) for folder in self.prefix.rglob("pkgconfig"))}
        flags = run("pkg-config", "--cflags", "--libs",
                    f"--define-variable=prefix={self.prefix}", "tidemark", env=environment).split()
        program = self.folder / "c_program"
        run("cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
            OPTIONS.source / "examples" / "c_program.c", "-o", program, *flags)
        libraries = ":".join(str(path.parent) for path in self.prefix.rglob("libtidemark*.so"))
        said = run(program, env={**os.environ, "LD_LIBRARY_PATH": libraries})
        self.assertIn("peak reserved", said)

    def test_python_package(self):
        """What a wheel is made of works where it is put, with nothing of this tree."""
        package = self.folder / "site" / "tidemark"
        shutil.copytree(OPTIONS.source / "python" / "tidemark", package,
                        ignore=shutil.ignore_patterns("__pycache__"))
        run("cmake", "--install", OPTIONS.build, "--component", "python", "--prefix", package)
        for name in ("bin/tidemark", "bin/tidemark-view", "include/tidemark/tidemark.h",
                     "include/tidemark/tidemark_store.h",
                     "include/tidemark/memory_resource.h", "lib/libtidemark.so.1", "lib/libglfw.so.3", "licenses/libglfw3-dev"):
            self.assertTrue((package / name).is_file(), name)
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("TIDEMARK_")}
        said = run(sys.executable, "-c", "import tidemark\n"
                   "from tidemark import programs\n"
                   "assert tidemark.library_version() == tidemark.__version__\n"
                   "print(programs.program('tidemark'))\n"
                   "print(tidemark.replay('generate:mix', 'extent', progress=False).exit_code)",
                   cwd="/", env={**environment, "PYTHONPATH": str(package.parent)})
        self.assertEqual(said.split(), [str(package / "bin" / "tidemark"), "0"])

    def test_versions(self):
        """Another minor version isn't taken for this one."""
        source = self.folder / "versions"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.20)\nproject(v LANGUAGES CXX)\n"
            "find_package(tidemark 0.9 QUIET)\nif(tidemark_FOUND)\n"
            "message(FATAL_ERROR taken)\nendif()\n"
            "find_package(tidemark 0.2 QUIET COMPONENTS nothing)\nif(tidemark_FOUND)\n"
            "message(FATAL_ERROR unknown)\nendif()\n")
        run("cmake", "-S", source, "-B", self.folder / "versions-build", env=self.environment)

    def test_as_part_of_another_project(self):
        """add_subdirectory: the libraries alone, with the other project's warnings for its code."""
        source = self.folder / "parent"
        source.mkdir()
        (source / "main.cpp").write_text(
            "#include <tidemark/core/allocator/spec.h>\n"
            "int main() { int unused; return tidemark::all_policies().empty(); }\n")
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.20)\nproject(parent LANGUAGES CXX)\n"
            f"add_subdirectory({OPTIONS.source} tidemark)\nadd_executable(main main.cpp)\n"
            "target_link_libraries(main PRIVATE tidemark::core)\n")
        build = self.folder / "parent-build"
        run("cmake", "-S", source, "-B", build, "-G", "Ninja",
            "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
        commands = {pathlib.Path(entry["file"]).name: entry["command"] for entry in
                    json.loads((build / "compile_commands.json").read_text())}
        self.assertNotIn("-W", commands["main.cpp"])
        self.assertFalse([name for name in commands if name.endswith("_test.cpp")])
        self.assertNotIn("view_command.cpp", commands)
        run("cmake", "--build", build, "--target", "CMakeFiles/main.dir/main.cpp.o")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
