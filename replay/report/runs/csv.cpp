// Finding the tables in an object, flattening their rows, quoting the cells.
#include "replay/report/runs/csv.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "replay/report/forms/csv_line.h"
#include "replay/report/forms/json_values.h"

namespace tidemark {
namespace {

using report::Json;

struct CsvCell {
    std::string content;
    bool is_text = false;  // not a figure
};

using Row = std::vector<std::pair<std::string, CsvCell>>;  // column, cell

struct Rows {
    std::string name;
    std::vector<Row> rows;
};

bool is_plain(const Json& value) {
    return value.is_primitive();
}

bool is_table(const Json& value) {
    return value.is_array() &&
           std::all_of(value.begin(), value.end(), [](const Json& row) { return row.is_object(); });
}

bool is_of_texts(const Json& value) {
    return value.is_object() && std::all_of(value.begin(), value.end(),
                                            [](const Json& part) { return part.is_string(); });
}

std::string content_of(const Json& value) {
    if (value.is_null())
        return {};
    if (value.is_string())
        return value.get<std::string>();
    if (is_plain(value))
        return value.dump();
    std::string content;
    for (const auto& [name, part] : value.items())
        content += fmt::format("{}{}={}", content.empty() ? "" : ";", name, content_of(part));
    return content;
}

CsvCell cell_of(const Json& value) {
    return {content_of(value), value.is_string() || value.is_object()};
}

// Adds the columns of `object`; those of an object within it get its name as a prefix.
void flatten(const Json& object, const std::string& before, Row& row) {
    for (const auto& [name, value] : object.items()) {
        if (value.is_object() && !is_of_texts(value))
            flatten(value, before + name + ".", row);
        else if (!value.is_array())
            row.emplace_back(before + name, cell_of(value));
    }
}

// All tables below `object`, with rows that start with `prefix`. Depth: that of our own reports.
void collect(const Json& object, const std::string& path, const Row& prefix,
             std::vector<Rows>& tables) {
    for (const auto& [name, value] : object.items()) {
        const std::string here = path.empty() ? name : path + "." + name;
        if (value.is_object())
            collect(value, here, prefix, tables);
        if (!is_table(value))
            continue;
        auto table = std::find_if(tables.begin(), tables.end(),
                                  [&](const Rows& known) { return known.name == here; });
        if (table == tables.end())
            table = tables.insert(tables.end(), {here, {}});
        const auto at = static_cast<std::size_t>(table - tables.begin());
        for (const Json& part : value) {
            Row row = prefix;
            flatten(part, {}, row);
            tables[at].rows.push_back(std::move(row));
            Row inner = prefix;
            const auto known = std::find_if(part.begin(), part.end(), is_plain);
            if (known != part.end())
                inner.emplace_back(fmt::format("{}.{}", name, known.key()), cell_of(*known));
            collect(part, here, inner, tables);
        }
    }
}

// Columns in the order in which rows mention them.
std::string csv_of(const std::vector<Row>& rows) {
    std::vector<std::string> titles;
    std::unordered_map<std::string, std::size_t> index;
    for (const Row& row : rows)
        for (const auto& [column, cell] : row)
            if (index.emplace(column, titles.size()).second)
                titles.push_back(column);
    if (titles.empty())
        return {};
    CsvLine line("\n");
    for (const std::string& title : titles)
        line.text(title);
    line.end();
    for (const Row& row : rows) {
        std::vector<const CsvCell*> cells(titles.size());
        for (const auto& [column, cell] : row)
            cells[index.at(column)] = &cell;
        for (const CsvCell* const cell : cells) {
            if (cell == nullptr)
                line.nothing();
            else
                cell->is_text ? line.text(cell->content) : line.figure(cell->content);
        }
        line.end();
    }
    return std::move(line.lines());
}

// Whether `wanted` is a valid short name of the table.
bool ends_in(const std::string& name, std::string_view wanted) {
    return name.size() > wanted.size() && name.ends_with(wanted) &&
           name[name.size() - wanted.size() - 1] == '.';
}

}  // namespace

Result<std::string> csv_of_json(std::string_view json, std::string_view table,
                                std::string_view main_tables) {
    const Json object = Json::parse(json, nullptr, false);
    if (!object.is_object())
        return fail(ErrorCode::bad_input, "this answer has no tables", "--csv");
    for (std::string_view rest = main_tables; table.empty() && !rest.empty();) {
        const std::string_view name = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), name.size() + 1));
        if (object.contains(name))
            table = name;
    }
    if (table.empty()) {
        Row row;
        flatten(object, {}, row);
        return csv_of({row});
    }
    std::vector<Rows> tables;
    collect(object, {}, {}, tables);
    std::vector<const Rows*> fitting;
    std::vector<std::string_view> names;
    for (const Rows& each : tables) {
        names.push_back(each.name);
        if (each.name == table)
            return csv_of(each.rows);
        if (ends_in(each.name, table))
            fitting.push_back(&each);
    }
    if (fitting.size() == 1)
        return csv_of(fitting.front()->rows);
    return fail(
        ErrorCode::bad_option,
        fmt::format("there is {} '{}' here", fitting.empty() ? "no table" : "more than one", table),
        "--table",
        names.empty() ? "this answer has none: leave it out for one row of everything"
                      : fmt::format("one of: {}", fmt::join(names, ", ")));
}

}  // namespace tidemark
