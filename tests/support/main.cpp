// The test programs' main: Catch2's own, with a cache that is the test's and not the user's.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include "tests/support/test_folder.h"

int main(int count, char** arguments) {
    const tidemark::support::TestFolder cache;
    ::setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
    return Catch::Session().run(count, arguments);
}

// Asked by LeakSanitizer, where there is one: Cairo's fonts stay loaded until the program ends.
extern "C" const char* __lsan_default_suppressions();

extern "C" const char* __lsan_default_suppressions() {
    return "leak:libfontconfig\n";
}
