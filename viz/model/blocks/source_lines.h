// SourceLines: lines of source files that a stack names, if they are on this machine. A trace may
// name anything: only regular files of a moderate size are read, each once.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tidemark::viz {

class SourceLines {
  public:
    // The line of a file, counted from 1, printable and without blanks at its ends; "" if it does
    // not exist. O(bytes of the file) the first time, then O(1).
    std::string line(std::string_view path, std::uint32_t number);

  private:
    static std::vector<std::string> read(const std::string& path);

    std::unordered_map<std::string, std::vector<std::string>> files_;
};

}  // namespace tidemark::viz
