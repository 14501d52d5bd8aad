// vpmm: +10 > +1 > -10 > +4 > +11 pages on one stream, from P = X + 11 pages, in full after every
// step: as the original's program does it (but for the addresses that it loses), and as its
// document says.
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/core/policies/vpmm_pool.h"

namespace tidemark {
namespace {

using support::VpmmPool;

struct Row {
    int spare;  // X; -1: nothing is preallocated
    std::string_view after_ten;
    std::string_view after_one;
    std::string_view after_free;
    std::string_view after_four;
    std::string_view after_eleven;
    Bytes pages;
};

constexpr Row kSource[] = {
    {0, "[+10][-1]", "[10][+1]", "[-10][1]", "[+4][-6][1]", "[4][*6][1][+11]", 16},
    {1, "[+10][-2]", "[10][+1][-1]", "[-10][1][-1]", "[+4][-6][1][-1]", "[4][*6][1][+11]", 16},
    {2, "[+10][-3]", "[10][+1][-2]", "[-10][1][-2]", "[+4][-6][1][-2]", "[4][*6][1][+11]", 16},
    {3, "[+10][-4]", "[10][+1][-3]", "[-10][1][-3]", "[+4][-6][1][-3]", "[4][*6][1][+11]", 16},
    {4, "[+10][-5]", "[10][+1][-4]", "[-10][1][-4]", "[-10][1][+4]", "[*10][1][4][+11]", 16},
    {5, "[+10][-6]", "[10][+1][-5]", "[-10][1][-5]", "[-10][1][+4][-1]", "[*10][1][4][*1][+11]",
     16},
    {6, "[+10][-7]", "[10][+1][-6]", "[-10][1][-6]", "[-10][1][+4][-2]", "[*9][-1][1][4][*2][+11]",
     17},
    {7, "[+10][-8]", "[10][+1][-7]", "[-10][1][-7]", "[-10][1][+4][-3]", "[*8][-2][1][4][*3][+11]",
     18},
    {8, "[+10][-9]", "[10][+1][-8]", "[-10][1][-8]", "[-10][1][+4][-4]", "[*7][-3][1][4][*4][+11]",
     19},
    {9, "[+10][-10]", "[10][+1][-9]", "[-10][1][-9]", "[-10][1][+4][-5]", "[*6][-4][1][4][*5][+11]",
     20},
    {10, "[+10][-11]", "[10][+1][-10]", "[-10][1][-10]", "[+4][-6][1][-10]",
     "[4][*1][-5][1][*10][+11]", 21},
    {11, "[+10][-12]", "[10][+1][-11]", "[-10][1][-11]", "[+4][-6][1][-11]", "[4][-6][1][+11]", 22},
    {12, "[+10][-13]", "[10][+1][-12]", "[-10][1][-12]", "[+4][-6][1][-12]", "[4][-6][1][+11][-1]",
     23},
    {13, "[+10][-14]", "[10][+1][-13]", "[-10][1][-13]", "[+4][-6][1][-13]", "[4][-6][1][+11][-2]",
     24},
    {-1, "[+10]", "[10][+1]", "[-10][1]", "[+4][-6][1]", "[4][*6][1][+11]", 16},
};

// The document moves the free region before the others to the end, whole, and keeps what is there:
// 5 <= X < 11 is one case.
constexpr Row kDocument[] = {
    {0, "[+10][-1]", "[10][+1]", "[-10][1]", "[+4][-6][1]", "[4][*6][1][+11]", 16},
    {1, "[+10][-2]", "[10][+1][-1]", "[-10][1][-1]", "[+4][-6][1][-1]", "[4][*6][1][+11]", 16},
    {2, "[+10][-3]", "[10][+1][-2]", "[-10][1][-2]", "[+4][-6][1][-2]", "[4][*6][1][+11]", 16},
    {3, "[+10][-4]", "[10][+1][-3]", "[-10][1][-3]", "[+4][-6][1][-3]", "[4][*6][1][+11]", 16},
    {4, "[+10][-5]", "[10][+1][-4]", "[-10][1][-4]", "[-10][1][+4]", "[*10][1][4][+11]", 16},
    {5, "[+10][-6]", "[10][+1][-5]", "[-10][1][-5]", "[-10][1][+4][-1]", "[*10][1][4][+11]", 16},
    {6, "[+10][-7]", "[10][+1][-6]", "[-10][1][-6]", "[-10][1][+4][-2]", "[*10][1][4][+11][-1]",
     17},
    {7, "[+10][-8]", "[10][+1][-7]", "[-10][1][-7]", "[-10][1][+4][-3]", "[*10][1][4][+11][-2]",
     18},
    {8, "[+10][-9]", "[10][+1][-8]", "[-10][1][-8]", "[-10][1][+4][-4]", "[*10][1][4][+11][-3]",
     19},
    {9, "[+10][-10]", "[10][+1][-9]", "[-10][1][-9]", "[-10][1][+4][-5]", "[*10][1][4][+11][-4]",
     20},
    {10, "[+10][-11]", "[10][+1][-10]", "[-10][1][-10]", "[-10][1][+4][-6]", "[*10][1][4][+11][-5]",
     21},
    {11, "[+10][-12]", "[10][+1][-11]", "[-10][1][-11]", "[+4][-6][1][-11]", "[4][-6][1][+11]", 22},
    {12, "[+10][-13]", "[10][+1][-12]", "[-10][1][-12]", "[+4][-6][1][-12]", "[4][-6][1][+11][-1]",
     23},
    {13, "[+10][-14]", "[10][+1][-13]", "[-10][1][-13]", "[+4][-6][1][-13]", "[4][-6][1][+11][-2]",
     24},
    {-1, "[+10]", "[10][+1]", "[-10][1]", "[+4][-6][1]", "[4][*6][1][+11]", 16},
};

// `busy`: the stream has work queued all along, which makes no difference to itself.
void check(std::string_view harvest, const Row& row, bool busy) {
    CAPTURE(harvest, row.spare, busy);
    const int pages = row.spare < 0 ? 0 : row.spare + 11;
    VpmmPool pool(fmt::format("harvest={},pages={}", harvest, pages));
    const Bytes addresses = 8192_GiB;
    const auto is = [&](std::string_view layout) {
        CHECK(pool.layout() == layout);
        CHECK(pool.totals().reserved == addresses);
    };
    if (pages != 0)
        CHECK(pool.layout() == fmt::format("[-{}]", pages));

    const Allocation ten = pool.take(10);
    is(row.after_ten);
    if (busy)
        pool.work(ten);
    const Allocation one = pool.take(1);
    is(row.after_one);
    pool.give(ten);
    is(row.after_free);
    pool.take(4);
    is(row.after_four);
    pool.take(11);
    is(row.after_eleven);

    CHECK(one.address == support::pages_after(ten.address, 10));
    const AddressTotals totals = pool.totals();
    CHECK((totals.allocated + totals.free) / VpmmPool::kPage == row.pages);
}

TEST_CASE("vpmm's harvest=source goes the way of the original, step by step", "[policy][vpmm]") {
    const bool busy = GENERATE(false, true);
    for (const Row& row : kSource)
        check("source", row, busy);
}

TEST_CASE("vpmm's harvest=document goes the way of the document, step by step", "[policy][vpmm]") {
    const bool busy = GENERATE(false, true);
    for (const Row& row : kDocument)
        check("document", row, busy);
}

TEST_CASE("vpmm's zombies become holes with the first request after their work is over",
          "[policy][vpmm]") {
    const std::string harvest = GENERATE("source", "document");
    VpmmPool pool("harvest=" + harvest);
    const Allocation ten = pool.take(10);
    const Allocation one = pool.take(1);
    pool.work(ten);
    pool.give(ten);
    pool.take(4);
    const Allocation eleven = pool.take(11);
    REQUIRE(pool.layout() == "[4][*6][1][+11]");

    const Allocation more = pool.take(1);
    CHECK(pool.layout() == "[4][*6][1][11][+1]");  // the stream is still busy
    pool.pass_time();
    CHECK(pool.layout() == "[4][*6][1][11][+1]");  // nobody has looked yet
    pool.give(more);
    const Allocation again = pool.take(1);
    CHECK(pool.layout() == "[4][.6][1][11][+1]");

    pool.give(one);
    CHECK(pool.layout() == "[4][.6][-1][11][1]");
    pool.give(eleven);
    CHECK(pool.layout() == "[4][.6][-12][1]");
    pool.give(again);
    CHECK(pool.layout() == "[4][.6][-13]");
}

}  // namespace
}  // namespace tidemark
