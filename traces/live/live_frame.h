// LiveFrame: a call site in a program, as a stack capture describes it.
#pragma once

#include <cstdint>
#include <string_view>

namespace tidemark::live {

struct LiveFrame {
    std::string_view function;
    std::string_view file;
    std::uint32_t line = 0;
};

}  // namespace tidemark::live
