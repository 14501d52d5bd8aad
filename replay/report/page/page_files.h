// The files of page/, embedded in the program: what a report page looks like. CMake embeds them as
// plain text.
#pragma once

#include <string_view>

namespace tidemark::report {

// With "{{names}}" that html_report.cpp fills in.
std::string_view page_markup();

// The same for a sweep's page; sweep/sweep_page.cpp fills it in.
std::string_view sweep_markup();

// report.css; page_style.h has the colours that it uses.
std::string_view page_style();

}  // namespace tidemark::report
