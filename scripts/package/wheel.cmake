# The build for a Python wheel (see pyproject.toml). Because it must run on other Linux systems, it
# includes third-party libraries, the C++ library too, and needs only glibc and libgcc from the system:
# a libgcc of its own would need a newer glibc. libtidemark.so contains the programs, which share most
# of it; a program is a file that calls its main() there.
message(NOTICE "Compiling Tidemark: about 10 minutes on two cores, less on more.")
set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
add_compile_definitions(FMT_HEADER_ONLY)  # Debian has no static fmt
# Unused code is removed, ours and others': parts of the C++ library would need a newer glibc.
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-static-libstdc++
    LINKER:--as-needed LINKER:--exclude-libs,ALL LINKER:--gc-sections)
# Debian's static libpng works only for programs, so the shared one is included (auditwheel).
find_library(PNG_LIBRARY_RELEASE NAMES libpng16.so libpng.so)
# Libraries that are linked by name are searched here first.
set(static ${PROJECT_BINARY_DIR}/static)
file(MAKE_DIRECTORY ${static})
find_library(TIDEMARK_STATIC_XXHASH NAMES libxxhash.a REQUIRED)
file(CREATE_LINK ${TIDEMARK_STATIC_XXHASH} ${static}/libxxhash.a SYMBOLIC)
link_directories(BEFORE ${static})

# After zstd was found: the static library under the shared one's name.
function(tidemark_wheel_zstd)
    find_library(TIDEMARK_STATIC_ZSTD NAMES libzstd.a REQUIRED)
    get_target_property(configurations zstd::libzstd_shared IMPORTED_CONFIGURATIONS)
    foreach(configuration IN LISTS configurations)
        set_target_properties(zstd::libzstd_shared PROPERTIES
            IMPORTED_LOCATION_${configuration} ${TIDEMARK_STATIC_ZSTD})
    endforeach()
endfunction()
