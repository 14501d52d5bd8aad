// The files of page/, carried inside the program: what a report page looks like and does. Plain
// text, put together by CMake.
#pragma once

#include <string_view>

namespace tidemark::report {

// With "{{names}}" where html_report.cpp fills in what it has to say.
std::string_view page_markup();

// Likewise, of a sweep's page; sweep/sweep_page.cpp fills it in.
std::string_view sweep_markup();

std::string_view page_style();

std::string_view page_script();

}  // namespace tidemark::report
