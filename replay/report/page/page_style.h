// The style of our pages: report.css, and before it the theme's colours as variables.
#pragma once

#include <cstddef>
#include <string>

namespace tidemark::report {

// From "--run0", the baseline's, to "--run7".
constexpr std::size_t kRunColours = 8;

// The content of <style>. Light; dark if the reader's browser is dark; light on paper.
std::string style_markup();

}  // namespace tidemark::report
