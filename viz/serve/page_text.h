// The page that draws in the browser, carried inside the program: page.html, put here by CMake.
#pragma once

#include <string_view>

namespace tidemark::viz {

std::string_view served_page();

}  // namespace tidemark::viz
