// TestFolder: an empty folder of a test's own, which goes away with all that is in it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

namespace tidemark::support {

class TestFolder {
  public:
    TestFolder() {
        std::string name = std::filesystem::temp_directory_path() / "tidemark-test-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr)
            std::abort();
        path_ = name;
    }

    TestFolder(const TestFolder&) = delete;
    TestFolder& operator=(const TestFolder&) = delete;

    ~TestFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    const std::filesystem::path& path() const { return path_; }

    std::string file(std::string_view name) const { return (path_ / name).string(); }

    // The path of a new file with this content.
    std::string write(std::string_view name, std::string_view content) const {
        std::ofstream(path_ / name, std::ios::binary) << content;
        return file(name);
    }

    std::string write(std::string_view name, std::span<const std::byte> bytes) const {
        return write(name,
                     std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }

    std::string read(std::string_view name) const {
        std::ifstream in(path_ / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    // Files and folders directly in it.
    std::size_t entries() const {
        return static_cast<std::size_t>(
            std::distance(std::filesystem::directory_iterator(path_), {}));
    }

  private:
    std::filesystem::path path_;
};

}  // namespace tidemark::support
