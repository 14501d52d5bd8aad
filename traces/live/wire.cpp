// The wire format of living programs.
#include <cstdint>
