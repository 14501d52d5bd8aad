// pprof: profiles are told from traces.
#include <catch2/catch.hpp>

#include "traces/open.h"

namespace tidemark {

TEST_CASE("a memory profile of JAX is refused with what to record instead", "[reader][pprof]") {
    const auto trace = open_trace(TIDEMARK_SOURCE_DIR "/traces/samples/profilers/jax_memory.prof");
    REQUIRE_FALSE(trace.has_value());
    CHECK(trace.error().code == ErrorCode::unsupported);
    CHECK(trace.error().what.find("one moment") != std::string::npos);
    CHECK(trace.error().hint.find("tidemark record") != std::string::npos);
}

}  // namespace tidemark
