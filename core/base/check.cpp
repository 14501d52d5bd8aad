// How a broken invariant ends the program.
#include "core/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tidemark {

void check_failed(const char* condition, const char* file, int line) {
    std::fprintf(stderr,
                 "%s:%d: check failed: %s\nThis is a defect of Tidemark. Please report it.\n", file,
                 line, condition);
    std::abort();
}

}  // namespace tidemark
