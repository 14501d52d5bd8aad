// The functions of a library with probes, for probed_program.cpp.
#pragma once

unsigned long probed_malloc(unsigned long size, signed char device, unsigned long stream);
void probed_free(unsigned long address);

// Whether somebody listens now.
bool probed_by_someone();
