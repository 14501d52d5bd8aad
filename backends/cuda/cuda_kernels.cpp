// PTX written by hand: small enough to read, and no compiler is needed to build Tidemark. Each
// thread takes every n-th piece of 16 bytes, if the target is aligned to that; then words of 4
// bytes; then the last bytes one by one. Bytes that differ are counted without a branch: adding
// 0x7f to each byte's low bits carries into its high bit if any was set.
#include "backends/cuda/cuda_kernels.h"

namespace tidemark::cuda {

const char* const kKernels = R"ptx(
.version 6.0
.target sm_50
.address_size 64

.func (.reg .b32 count) differing_bytes(.reg .b32 value, .reg .b32 pattern)
{
    .reg .b32 %difference, %low;

    xor.b32 %difference, value, pattern;
    and.b32 %low, %difference, 0x7f7f7f7f;
    add.u32 %low, %low, 0x7f7f7f7f;
    or.b32 %low, %low, %difference;
    and.b32 %low, %low, 0x80808080;
    popc.b32 count, %low;
    ret;
}

.visible .entry tidemark_count_mismatches(
    .param .u64 target_parameter,
    .param .u64 size_parameter,
    .param .u64 counter_parameter,
    .param .u32 pattern_parameter
)
{
    .reg .pred %done, %none;
    .reg .b32 %pattern, %block, %blocks, %thread, %threads, %found, %bits, %expected;
    .reg .b32 %word0, %word1, %word2, %word3;
    .reg .b64 %target, %size, %counter, %index, %first, %stride, %end, %address, %count, %more;
    .reg .b64 %wide;

    ld.param.u64 %target, [target_parameter];
    ld.param.u64 %size, [size_parameter];
    ld.param.u64 %counter, [counter_parameter];
    ld.param.u32 %pattern, [pattern_parameter];
    cvta.to.global.u64 %target, %target;
    cvta.to.global.u64 %counter, %counter;

    mov.u32 %block, %ctaid.x;
    mov.u32 %blocks, %nctaid.x;
    mov.u32 %thread, %tid.x;
    mov.u32 %threads, %ntid.x;
    mul.wide.u32 %first, %block, %threads;
    cvt.u64.u32 %wide, %thread;
    add.u64 %first, %first, %wide;
    mul.wide.u32 %stride, %blocks, %threads;
    mov.u64 %count, 0;

    // Pieces of 16 bytes: `end` of them, none if the target is not aligned to that.
    shr.u64 %end, %size, 4;
    and.b64 %wide, %target, 15;
    setp.ne.u64 %none, %wide, 0;
    selp.b64 %end, 0, %end, %none;
    mov.u64 %index, %first;
PIECES:
    setp.ge.u64 %done, %index, %end;
    @%done bra PIECES_DONE;
    shl.b64 %address, %index, 4;
    add.u64 %address, %target, %address;
    ld.global.v4.u32 {%word0, %word1, %word2, %word3}, [%address];
    call (%found), differing_bytes, (%word0, %pattern);
    call (%bits), differing_bytes, (%word1, %pattern);
    add.u32 %found, %found, %bits;
    call (%bits), differing_bytes, (%word2, %pattern);
    add.u32 %found, %found, %bits;
    call (%bits), differing_bytes, (%word3, %pattern);
    add.u32 %found, %found, %bits;
    cvt.u64.u32 %more, %found;
    add.u64 %count, %count, %more;
    add.u64 %index, %index, %stride;
    bra PIECES;
PIECES_DONE:

    // Words of 4 bytes: from the end of the pieces.
    shl.b64 %index, %end, 2;
    add.u64 %index, %index, %first;
    shr.u64 %end, %size, 2;
WORDS:
    setp.ge.u64 %done, %index, %end;
    @%done bra WORDS_DONE;
    shl.b64 %address, %index, 2;
    add.u64 %address, %target, %address;
    ld.global.u32 %word0, [%address];
    call (%found), differing_bytes, (%word0, %pattern);
    cvt.u64.u32 %more, %found;
    add.u64 %count, %count, %more;
    add.u64 %index, %index, %stride;
    bra WORDS;
WORDS_DONE:

    // The last bytes, at most three.
    shl.b64 %index, %end, 2;
    add.u64 %index, %index, %first;
BYTES:
    setp.ge.u64 %done, %index, %size;
    @%done bra BYTES_DONE;
    add.u64 %address, %target, %index;
    ld.global.u8 %word0, [%address];
    cvt.u32.u64 %bits, %index;
    and.b32 %bits, %bits, 3;
    shl.b32 %bits, %bits, 3;
    shr.u32 %expected, %pattern, %bits;
    and.b32 %expected, %expected, 255;
    setp.ne.u32 %none, %word0, %expected;
    selp.b32 %found, 1, 0, %none;
    cvt.u64.u32 %more, %found;
    add.u64 %count, %count, %more;
    add.u64 %index, %index, %stride;
    bra BYTES;
BYTES_DONE:

    setp.eq.u64 %none, %count, 0;
    @%none bra END;
    red.global.add.u64 [%counter], %count;
END:
    ret;
}
)ptx";

const char* const kPacingKernels = R"ptx(
.version 6.0
.target sm_50
.address_size 64

.visible .entry tidemark_pass(.param .u64 slot_parameter, .param .u64 end_parameter)
{
    .reg .pred %early;
    .reg .b64 %slot, %time, %end;
    ld.param.u64 %slot, [slot_parameter];
    ld.param.u64 %end, [end_parameter];
    cvta.to.global.u64 %slot, %slot;
AGAIN:
    mov.u64 %time, %globaltimer;
    setp.lt.u64 %early, %time, %end;
    @%early bra AGAIN;
    st.global.u64 [%slot], %time;
    ret;
}
)ptx";

}  // namespace tidemark::cuda
