// The files of page/, carried inside the program: what a report page looks like. Plain text, put
// there by CMake.
#pragma once

#include <string_view>

namespace tidemark::report {

// With "{{names}}" where html_report.cpp fills in what it has to say.
std::string_view page_markup();

// Likewise, of a sweep's page; sweep/sweep_page.cpp fills it in.
std::string_view sweep_markup();

// report.css; page_style.h has the colours that it speaks of.
std::string_view page_style();

}  // namespace tidemark::report
