// Limits of the process, as batch systems set them: a command that has too little says so and ends.
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/wait.h>

#include "tests/cli/command_line.h"

namespace tidemark {
namespace {

using namespace support;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which need terabytes

// What the program says, with its address space limited to so many KiB.
Said limited(std::size_t kib, const std::string& arguments) {
    const std::string command = "ulimit -v " + std::to_string(kib) + "; exec " +
                                std::string(TIDEMARK_PROGRAM) + " " + arguments + " 2>&1";
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    Said said;
    std::array<char, 4096> part{};
    for (std::size_t count = 0; (count = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
        said.out.append(part.data(), count);
    const int status = ::pclose(pipe);
    said.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return said;
}

TEST_CASE("a command that has too little memory says so, whichever thread had none") {
    const Folder folder;
    const std::string trace = folder / "mix.tmk";
    REQUIRE(tidemark({"generate", "mix:events=400000", "-o", trace}).code == 0);
    // Below this the kernel or the loader ends it, before it can say anything.
    std::size_t least = 8'000;
    while (limited(least, "--version").code != 0)
        least += least / 64;  // so close that no command's own work fits what is left over
    for (const std::string& command :
         {"compare " + trace, "replay -p torch " + trace, "info " + trace,
          "report " + trace + " -o " + folder / "page.html", "fit " + trace}) {
        bool refused = false;
        for (std::size_t kib = least; kib < 5'000'000; kib += kib / 2) {
            const Said said = limited(kib, command);
            INFO(command << " with " << kib << " KiB: " << said.code << ": " << said.out);
            CHECK((said.code == 0 || said.code == 3 || said.code == 5));
            CHECK_FALSE(said.out.empty());
            refused = refused || said.code != 0;
            if (kib > 3'000'000)
                CHECK(said.code == 0);
        }
        CHECK(refused);
    }
}

#endif

}  // namespace
}  // namespace tidemark
