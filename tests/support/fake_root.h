// FakeRoot: a folder that stands for "/", with the files that a test puts there. Removed at the
// end.
#pragma once

#include <string>
#include <string_view>

namespace tidemark::support {

class FakeRoot {
  public:
    FakeRoot();
    FakeRoot(const FakeRoot&) = delete;
    FakeRoot& operator=(const FakeRoot&) = delete;
    ~FakeRoot();

    const std::string& path() const { return path_; }

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
    std::string path_;
};

}  // namespace tidemark::support
