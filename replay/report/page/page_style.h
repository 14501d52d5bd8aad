// The style of our pages: report.css, and before it the theme's colours as variables.
#pragma once

#include <cstddef>
#include <string>

namespace tidemark::report {

// "--run0" of the run that others are compared with, to "--run7".
constexpr std::size_t kRunColours = 8;

// What stands in <style>. Light, dark where the reader's browser is dark, and light on paper.
std::string style_markup();

}  // namespace tidemark::report
