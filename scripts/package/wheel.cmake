# The build that goes into a Python wheel (see pyproject.toml): what must run on other Linux systems
# takes the libraries of others with it, C++'s included, and needs of the system only glibc and
# libgcc: a libgcc of our own would want a newer glibc. libtidemark.so has the programs inside, which
# share most of it; a program is a file that calls its main() there.
message(NOTICE "Tidemark is compiled now: some 10 minutes on two cores, less on more.")
set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
add_compile_definitions(FMT_HEADER_ONLY)  # Debian has no static fmt
# What is not used goes, of ours and of others: some of C++'s library would want a newer glibc.
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-static-libstdc++
    LINKER:--as-needed LINKER:--exclude-libs,ALL LINKER:--gc-sections)
# Debian's static libpng fits programs only, so the shared one comes along (auditwheel).
find_library(PNG_LIBRARY_RELEASE NAMES libpng16.so libpng.so)
# What is linked by its name alone is looked for here first.
set(static ${PROJECT_BINARY_DIR}/static)
file(MAKE_DIRECTORY ${static})
find_library(TIDEMARK_STATIC_XXHASH NAMES libxxhash.a REQUIRED)
file(CREATE_LINK ${TIDEMARK_STATIC_XXHASH} ${static}/libxxhash.a SYMBOLIC)
link_directories(BEFORE ${static})

# Once zstd is found: the static one under the shared one's name.
function(tidemark_wheel_zstd)
    find_library(TIDEMARK_STATIC_ZSTD NAMES libzstd.a REQUIRED)
    get_target_property(configurations zstd::libzstd_shared IMPORTED_CONFIGURATIONS)
    foreach(configuration IN LISTS configurations)
        set_target_properties(zstd::libzstd_shared PROPERTIES
            IMPORTED_LOCATION_${configuration} ${TIDEMARK_STATIC_ZSTD})
    endforeach()
endfunction()
