// Tables as comma-separated values.
#include <array>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "viz/draw/table.h"

namespace tidemark::viz {

TEST_CASE("a table as CSV has its titles and rows, quoted where they must be", "[viz][table]") {
    const std::array<VirtualColumn, 3> columns{
        {{"size"}, {"none", Align::left, false, false, false, true}, {"at"}}};
    const std::vector<std::string> sites{"f", "operator,", "a \"b\"", "x\ny"};
    TableContent content;
    content.columns = columns;
    content.rows = sites.size();
    content.text = [&](std::uint64_t row, std::size_t column) {
        return column == 0 ? std::to_string(row) : sites[row];
    };
    CHECK(csv_of(content, 9) ==
          "size,at\r\n0,f\r\n1,\"operator,\"\r\n2,\"a \"\"b\"\"\"\r\n3,x\\ny\r\n");
    CHECK(csv_of(content, 1) == "size,at\r\n0,f\r\n");
}

}  // namespace tidemark::viz
