// The mark of our PNG files, for people and for replay/cli_support/own_file.h: a complete PNG chunk
// with its length and CRC, since neither libpng's simple interface nor Cairo writes text chunks.
#pragma once

#include <cstddef>
#include <string_view>

namespace tidemark::report {

// It comes after the signature and IHDR.
constexpr std::size_t kBehindPngHeader = 8 + 25;
constexpr std::string_view kPngMark{"\0\0\0\x11tEXtSoftware\0tidemark\x9b\x0b\xd2\x17", 29};

}  // namespace tidemark::report
