// A folder for living programs and their recordings, for tests: found by the environment, removed
// at the end.
#pragma once

#include <cstdlib>

#include "tests/support/test_folder.h"

namespace tidemark::support {

class LiveFolder : public TestFolder {
  public:
    LiveFolder() {
        ::setenv("TIDEMARK_RUNTIME_DIR", file("run").c_str(), 1);
        ::setenv("TIDEMARK_RECORDINGS", file("recordings").c_str(), 1);
    }
};

}  // namespace tidemark::support
