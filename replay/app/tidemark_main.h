// The body of `tidemark`'s main(). A wheel has it in libtidemark.so, which contains everything that
// it needs anyway; the program in a wheel is just a main(). See scripts/package/wheel.cmake.
#pragma once

// Takes main()'s arguments, has the process to itself, and returns its exit code.
extern "C" __attribute__((visibility("default"))) int tidemark_main(int argc, char** argv);
