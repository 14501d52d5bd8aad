// Reading what the kernel reports in /sys and /proc: small files of one or a few lines.
//
// Every path is under `root`, a folder that is used instead of "/" ("" is the real one), so that
// tests can show another machine. Missing and unreadable files are ordinary: they give nothing.
// Pure except for the files; thread-safe; O(size of the file), which is cut at 1 MiB.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"

namespace tidemark {

// The whole file without white space at its end.
std::optional<std::string> read_sys_text(const std::string& path);

// A file that contains one whole number, in decimal or as 0x....
std::optional<std::int64_t> read_sys_number(const std::string& path);

// The names in a folder, sorted; none if there is no such folder.
std::vector<std::string> list_sys_folder(const std::string& path);

// "0-3,8" as 0 1 2 3 8; unreadable text ends the list. At most 65536 numbers.
std::vector<unsigned> parse_number_list(std::string_view text);

// The value of `key` ("MemTotal") in the lines of a meminfo file, of a node or of the machine.
std::optional<Bytes> find_meminfo(std::string_view text, std::string_view key);

}  // namespace tidemark
