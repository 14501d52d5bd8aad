// FakeRoot: a folder that stands for "/", with the files that a test puts there. Removed at the
// end.
#pragma once

#include <string>
#include <string_view>

#include "tests/support/test_folder.h"

namespace tidemark::support {

class FakeRoot {
  public:
    const std::string& path() const { return folder_.path().native(); }

    // Writes "/sys/..." with the folders that it needs, and a new line at its end.
    void put(std::string_view path, std::string_view content);

    // The same, as a program that may be run.
    void put_program(std::string_view path, std::string_view content);

    // Makes "/sys/..." a link to the folder `target` ("/sys/devices/..."), which is made if need
    // be.
    void link(std::string_view path, std::string_view target);

    // A memory node of `mebibytes`, a quarter of them free and as much used for files alone.
    void put_node(unsigned id, unsigned mebibytes, std::string_view cpus,
                  std::string_view distances);

  private:
    std::string within(std::string_view file) const { return path() + std::string(file); }

    TestFolder folder_;
};

}  // namespace tidemark::support
