// Source lines: what is there is read, what is no source is not.
#include "viz/model/blocks/source_lines.h"

#include <string>

#include <catch2/catch.hpp>

#include "tests/support/test_folder.h"

namespace tidemark::viz {

TEST_CASE("lines of sources are read where they are, and nothing else is", "[viz][stacks]") {
    const support::TestFolder folder;
    const std::string path = folder.write("model.py", "import x\n\n    y = f(\x01x)  \n");
    SourceLines sources;
    CHECK(sources.line(path, 1) == "import x");
    CHECK(sources.line(path, 2).empty());
    CHECK(sources.line(path, 3) == "y = f(\\x01x)");
    CHECK(sources.line(path, 4).empty());
    CHECK(sources.line(path, 0).empty());
    CHECK(sources.line("model.py", 1).empty());
    CHECK(sources.line("/dev/zero", 1).empty());
    CHECK(sources.line(folder.file("none.py"), 1).empty());
}

}  // namespace tidemark::viz
