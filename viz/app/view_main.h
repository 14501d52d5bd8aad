// What main() of `tidemark-view` does. A wheel has it in libtidemark.so, as
// replay/app/tidemark_main.h.
#pragma once

// Takes main()'s arguments, has the process to itself, and returns its exit code.
extern "C" __attribute__((visibility("default"))) int tidemark_view_main(int argc, char** argv);
