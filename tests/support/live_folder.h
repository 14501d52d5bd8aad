// A folder for living programs and their recordings, for tests: found by the environment, removed
// at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

namespace tidemark::support {

class LiveFolder {
  public:
    LiveFolder() {
        static int count = 0;
        path_ = std::filesystem::temp_directory_path() /
                fmt::format("tidemark-live-test-{}-{}", ::getpid(), count++);
        std::filesystem::create_directories(path_);
        ::setenv("TIDEMARK_RUNTIME_DIR", (path_ / "run").c_str(), 1);
        ::setenv("TIDEMARK_RECORDINGS", (path_ / "recordings").c_str(), 1);
    }

    LiveFolder(const LiveFolder&) = delete;
    LiveFolder& operator=(const LiveFolder&) = delete;

    ~LiveFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    std::string file(const std::string& name) const { return (path_ / name).string(); }

    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace tidemark::support
