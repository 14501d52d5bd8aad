// A cache folder of a test's own, found by the environment; the one from before is back at the end.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/test_folder.h"

namespace tidemark::support {

class OwnCache {
  public:
    OwnCache() : before_(std::getenv("XDG_CACHE_HOME")) {
        ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    }

    OwnCache(const OwnCache&) = delete;
    OwnCache& operator=(const OwnCache&) = delete;

    ~OwnCache() { ::setenv("XDG_CACHE_HOME", before_.c_str(), 1); }

    std::filesystem::path path() const { return folder_.path() / "tidemark"; }

    // What lies in it, by name.
    std::vector<std::filesystem::path> entries() const {
        std::vector<std::filesystem::path> found;
        std::error_code none;
        for (const auto& entry : std::filesystem::directory_iterator(path(), none))
            found.push_back(entry.path());
        std::sort(found.begin(), found.end());
        return found;
    }

  private:
    TestFolder folder_;
    std::string before_;  // main() has set one
};

}  // namespace tidemark::support
