// The test programs' main: Catch2's own.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

// Asked by LeakSanitizer, where there is one: Cairo's fonts stay loaded until the program ends.
extern "C" const char* __lsan_default_suppressions();

extern "C" const char* __lsan_default_suppressions() {
    return "leak:libfontconfig\n";
}
