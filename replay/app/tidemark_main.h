// What main() of `tidemark` does. A wheel has it in libtidemark.so, where all that it needs is in
// any case, and a program that is no more than its main(): see scripts/package/wheel.cmake.
#pragma once

// Takes main()'s arguments, has the process to itself, and returns its exit code.
extern "C" __attribute__((visibility("default"))) int tidemark_main(int argc, char** argv);
