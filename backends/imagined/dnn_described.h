// cuDNN's descriptors for programs without a real cuDNN: they remember what they were given, so
// that a convolution's workspace can be looked up in the run's table.
#pragma once

#include <cstdint>

namespace tidemark::imagined {

struct DescribedDnn;  // a descriptor of cuDNN's backend

DescribedDnn* describe(int type);
void forget(DescribedDnn* descriptor);

// cudnnBackendSetAttribute. Attributes that nobody needs are dropped.
void set_described(DescribedDnn& to, int name, int type, std::int64_t count, const void* values);

// cudnnBackendGetAttribute: how many there are; writes one if `wanted`. A plan reports the
// workspace that the run's table has for its convolution; attention reports 256 bytes, as in
// recordings of several transformers on Hopper; anything else none.
int get_described(const DescribedDnn& from, int name, bool wanted, void* out);

}  // namespace tidemark::imagined
