// The row of handles that serves a request: the cheapest, then the tightest.
#include "core/policies/extent_stitch.h"

#include <catch2/catch.hpp>

namespace tidemark::policies {
namespace {

using Piece = ExtentLine::Piece;

Piece piece(std::uint32_t handle, Bytes size) {
    return {{Address{handle * 1_GiB}, size}, handle};
}

constexpr Bytes kPage = 2_MiB;

TEST_CASE("as few handles as possible, and of these the tightest", "[extent]") {
    ExtentLine::Pieces pieces;
    pieces.wholes = {piece(1, 32_MiB), piece(2, 16_MiB), piece(3, 8_MiB)};
    pieces.suffixes = {piece(4, 12_MiB), piece(5, 4_MiB)};
    pieces.prefixes = {piece(6, 10_MiB), piece(7, 6_MiB)};

    const auto row = stitched_row(pieces, 38_MiB, {.byte = 1, .granularity = kPage});

    REQUIRE(row);
    CHECK(row->fresh == 0);
    CHECK(row->wholes.size() + (row->suffix ? 1U : 0U) + (row->prefix ? 1U : 0U) == 2);
    CHECK(row->excess == 0);  // 32 and 6
}

TEST_CASE("a handle is never both ends of a row", "[extent]") {
    ExtentLine::Pieces pieces;
    pieces.suffixes = {piece(1, 6_MiB)};
    pieces.prefixes = {piece(1, 6_MiB)};

    const auto row = stitched_row(pieces, 12_MiB, {.byte = 1, .granularity = kPage});

    REQUIRE(row);
    CHECK(row->suffix.has_value() != row->prefix.has_value());
    CHECK(row->fresh == 6_MiB);
}

TEST_CASE("new memory instead of many handles where that is cheaper", "[extent]") {
    ExtentLine::Pieces pieces;
    for (std::uint32_t i = 1; i <= 8; ++i)
        pieces.wholes.push_back(piece(i, 2_MiB));
    const ExtentPrices dear{.byte = 1, .granularity = kPage};
    const ExtentPrices cheap{.byte = 1e-9, .granularity = kPage};

    const auto all = stitched_row(pieces, 16_MiB, dear);
    const auto few = stitched_row(pieces, 16_MiB, cheap);

    REQUIRE(all);
    CHECK(all->wholes.size() == 8);
    REQUIRE(few);
    CHECK(few->wholes.size() == 1);
    CHECK(few->fresh == 14_MiB);
}

TEST_CASE("nothing to begin with is no row", "[extent]") {
    CHECK_FALSE(stitched_row({}, 4_MiB, {.byte = 1, .granularity = kPage}));
}

}  // namespace
}  // namespace tidemark::policies
