// Markup: how text becomes a page. Everything from a trace goes through escaped(): nothing else may
// put such text into a page. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "replay/report/forms/escaped.h"

namespace tidemark::report {

// A cell of a table; numbers are aligned right.
struct MarkupCell {
    std::string text;  // not yet escaped
    bool number = false;
    std::string style = {};  // a class of the page's CSS
    std::string hint = {};   // its tooltip; not yet escaped
};

// <table> with its caption, column titles and rows, in a box that scrolls if the page is
// narrow. The first cell of each row is its heading. O(cells).
std::string markup_table(std::string_view caption, const std::vector<MarkupCell>& titles,
                         const std::vector<std::vector<MarkupCell>>& rows);

// `page` with each "{{name}}" replaced; a missing name is a bug (TM_CHECK). Inserted text isn't
// searched again. O(length).
std::string filled_in(std::string_view page,
                      const std::vector<std::pair<std::string_view, std::string>>& values);

}  // namespace tidemark::report
