# The build that runs in a browser (scripts/make-page): WebAssembly by Emscripten, without threads.
# Third-party libraries are compiled from their Debian sources in TIDEMARK_PAGE_SOURCES, a folder
# each; header-only libraries come from Debian's packages.
set(TIDEMARK_PAGE_SOURCES "" CACHE PATH "Unpacked sources: imgui, xz, zlib, zstd")
set(TIDEMARK_PAGE_HEADERS /usr/include CACHE PATH "Where fmt, nlohmann, tl and xxhash.h are")

# Sizes have 64 bits, so that everything is counted as elsewhere; the program is lowered to 32 bits.
add_compile_options(-sMEMORY64=2 -fwasm-exceptions -fexperimental-library)
add_link_options(-sMEMORY64=2 -fwasm-exceptions -fexperimental-library)
add_compile_definitions(FMT_HEADER_ONLY XXH_INLINE_ALL XXH_VECTOR=0)

# Only these headers: /usr/include as a whole is for another machine.
set(headers ${PROJECT_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${headers})
foreach(name fmt nlohmann tl xxhash.h xxh3.h)
    if(EXISTS ${TIDEMARK_PAGE_HEADERS}/${name})
        file(CREATE_LINK ${TIDEMARK_PAGE_HEADERS}/${name} ${headers}/${name} SYMBOLIC)
    endif()
endforeach()
file(CREATE_LINK ${TIDEMARK_PAGE_HEADERS}/stb ${headers}/stb SYMBOLIC)

function(tidemark_page_library name folder)
    cmake_parse_arguments(PARSE_ARGV 2 its "" "" "SOURCES;INCLUDE;DEFINE;PRIVATE")
    file(GLOB root ${TIDEMARK_PAGE_SOURCES}/${folder}-[0-9]*)
    if(NOT IS_DIRECTORY "${root}")
        message(FATAL_ERROR "No sources of ${folder} in TIDEMARK_PAGE_SOURCES")
    endif()
    list(TRANSFORM its_SOURCES PREPEND ${root}/)
    file(GLOB sources ${its_SOURCES})
    list(FILTER sources EXCLUDE REGEX "/gz[a-z]+\\.c$|_mt\\.c$|_small\\.c$|tablegen\\.c$|_cputhreads\\.c$")
    add_library(${name} STATIC ${sources})
    list(TRANSFORM its_INCLUDE PREPEND ${root}/)
    list(TRANSFORM its_PRIVATE PREPEND ${root}/)
    target_include_directories(${name} SYSTEM PUBLIC ${its_INCLUDE})
    target_include_directories(${name} PRIVATE ${its_PRIVATE})
    target_compile_definitions(${name} PRIVATE ${its_DEFINE})
    target_compile_options(${name} PRIVATE -O3 -w)
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
endfunction()

enable_language(C)
tidemark_page_library(zlib zlib SOURCES *.c INCLUDE .)
add_library(ZLIB::ZLIB ALIAS zlib)
tidemark_page_library(zstd zstd INCLUDE lib DEFINE ZSTD_DISABLE_ASM ZSTD_LEGACY_SUPPORT=0
    SOURCES lib/common/*.c lib/compress/*.c lib/decompress/*.c)
add_library(zstd::libzstd_shared ALIAS zstd)
# Reads and writes .xz.
tidemark_page_library(lzma xz INCLUDE src/liblzma/api
    PRIVATE src/common src/liblzma src/liblzma/common src/liblzma/check src/liblzma/lz
        src/liblzma/rangecoder src/liblzma/lzma src/liblzma/delta src/liblzma/simple
    SOURCES src/liblzma/common/*.c src/liblzma/check/*.c src/liblzma/lz/*.c
        src/liblzma/lzma/*.c src/liblzma/rangecoder/*.c src/liblzma/delta/*.c
        src/liblzma/simple/*.c
    DEFINE HAVE_STDBOOL_H HAVE_STDINT_H HAVE_INTTYPES_H HAVE_CHECK_CRC32 HAVE_CHECK_CRC64
        HAVE_CHECK_SHA256 HAVE_DECODERS HAVE_DECODER_LZMA2 HAVE_DECODER_LZMA1 HAVE_DECODER_X86
        HAVE_DECODER_DELTA HAVE_ENCODERS HAVE_ENCODER_LZMA2 HAVE_ENCODER_LZMA1 HAVE_MF_HC3
        HAVE_MF_HC4 HAVE_MF_BT2 HAVE_MF_BT3 HAVE_MF_BT4 TUKLIB_SYMBOL_PREFIX=lzma_
        SIZEOF_SIZE_T=8)
add_library(LibLZMA::LibLZMA ALIAS lzma)
tidemark_page_library(imgui imgui SOURCES imgui.cpp imgui_draw.cpp imgui_tables.cpp
    imgui_widgets.cpp INCLUDE .)
target_include_directories(imgui SYSTEM PRIVATE ${headers}/stb ${headers})
add_library(PkgConfig::IMGUI ALIAS imgui)

foreach(name tl::expected fmt::fmt nlohmann_json::nlohmann_json xxhash Threads::Threads)
    add_library(${name} INTERFACE IMPORTED GLOBAL)
endforeach()
include_directories(SYSTEM ${headers})
