// Escaping and small pieces of markup.
#include "replay/report/page/html_markup.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/check.h"

namespace tidemark::report {
namespace {

std::string cell_markup(std::string_view element, const MarkupCell& cell) {
    std::string classes = cell.number ? "number" : "";
    if (!cell.style.empty())
        classes += (classes.empty() ? "" : " ") + cell.style;
    std::string tag(element);
    if (!classes.empty())
        tag += fmt::format(" class=\"{}\"", escaped(classes));
    if (!cell.hint.empty())
        tag += fmt::format(" title=\"{}\"", escaped(cell.hint));
    return fmt::format("<{}>{}</{}>", tag, escaped(cell.text),
                       element.substr(0, element.find(' ')));
}

}  // namespace

std::string markup_table(std::string_view caption, const std::vector<MarkupCell>& titles,
                         const std::vector<std::vector<MarkupCell>>& rows) {
    std::string out = fmt::format(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">"
        "<table>\n<caption>{0}</caption>\n<thead><tr>",
        escaped(caption));
    for (const MarkupCell& title : titles)
        out += cell_markup("th scope=\"col\"", title);
    out += "</tr></thead>\n<tbody>\n";
    for (const auto& row : rows) {
        out += "<tr>";
        for (std::size_t i = 0; i < row.size(); ++i)
            out += cell_markup(i == 0 ? "th scope=\"row\"" : "td", row[i]);
        out += "</tr>\n";
    }
    return out + "</tbody></table></div>\n";
}

std::string filled_in(std::string_view page,
                      const std::vector<std::pair<std::string_view, std::string>>& values) {
    std::string out;
    while (true) {
        const std::size_t begin = page.find("{{");
        out += page.substr(0, begin);
        if (begin == std::string_view::npos)
            return out;
        const std::size_t end = page.find("}}", begin);
        TM_CHECK(end != std::string_view::npos);
        const std::string_view name = page.substr(begin + 2, end - begin - 2);
        const auto value =
            std::ranges::find_if(values, [name](const auto& each) { return each.first == name; });
        TM_CHECK(value != values.end());
        out += value->second;
        page.remove_prefix(end + 2);
    }
}

}  // namespace tidemark::report
