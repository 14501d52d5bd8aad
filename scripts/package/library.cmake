# Declares our libraries so that programs outside the tree can use them: headers as <tidemark/...>,
# and the target tidemark::NAME, both with find_package and with add_subdirectory.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Shared libraries and programs find each other wherever the prefix is.
if(BUILD_SHARED_LIBS)
    set(CMAKE_INSTALL_RPATH "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
endif()

set(tidemark_include ${PROJECT_BINARY_DIR}/include)

# Writes headers, and our headers that they include, in the form for users. They include each other
# relative to the root of the tree here, and with "tidemark/" there.
function(tidemark_publish)
    set(open ${ARGN})
    while(open)
        list(POP_FRONT open header)
        get_property(published GLOBAL PROPERTY tidemark_published)
        if(header IN_LIST published)
            continue()
        endif()
        set_property(GLOBAL APPEND PROPERTY tidemark_published ${header})
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
        file(READ ${PROJECT_SOURCE_DIR}/${header} text)
        string(REGEX MATCHALL "#include \"[^\"]+\"" includes "${text}")
        list(TRANSFORM includes REPLACE "#include \"(.+)\"" "\\1")
        list(APPEND open ${includes})
        string(REPLACE "#include \"" "#include \"tidemark/" text "${text}")
        set(target ${tidemark_include}/tidemark/${header})
        file(WRITE ${target}.new "${text}")
        file(COPY_FILE ${target}.new ${target} ONLY_IF_DIFFERENT)
        file(REMOVE ${target}.new)
    endwhile()
endfunction()

# A header of the C library, which includes only our headers in its own folder: <tidemark/NAME>.
function(tidemark_publish_c header)
    get_filename_component(folder ${header} DIRECTORY)
    get_filename_component(name ${header} NAME)
    set_property(GLOBAL APPEND PROPERTY tidemark_published ${name})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
    file(READ ${PROJECT_SOURCE_DIR}/${header} text)
    string(REPLACE "#include \"${folder}/" "#include \"tidemark/" text "${text}")
    file(CONFIGURE OUTPUT ${tidemark_include}/tidemark/${name} CONTENT "${text}" @ONLY)
endfunction()

# tidemark_library(NAME HEADERS HEADER ... [REQUIRES NAME ...] [LIBRARIES PKG-CONFIG-NAME ...]
#                  [LINK FLAG ...])
# A library tidemark_NAME, with the alias tidemark::NAME. REQUIRES: our libraries that it links.
# LIBRARIES and LINK: what pkg-config adds for a static link.
function(tidemark_library name)
    cmake_parse_arguments(PARSE_ARGV 1 library "" "" "HEADERS;REQUIRES;LIBRARIES;LINK")
    set(target tidemark_${name})
    add_library(${target})
    add_library(tidemark::${name} ALIAS ${target})
    tidemark_publish(${library_HEADERS})
    list(TRANSFORM library_REQUIRES PREPEND tidemark:: OUTPUT_VARIABLE ours)
    target_link_libraries(${target} PUBLIC tl::expected fmt::fmt Threads::Threads ${ours}
        PRIVATE $<BUILD_INTERFACE:tidemark_build>)
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${tidemark_include}>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    # A policy in its own file includes the parts of the core that it needs; a page has no such file.
    set(moves ON)
    if(TIDEMARK_PAGE)
        set(moves OFF)
    endif()
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ${moves}
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    install(TARGETS ${target} EXPORT tidemark-targets)

    list(TRANSFORM library_REQUIRES PREPEND tidemark-)
    list(JOIN library_REQUIRES " " PC_REQUIRES)
    list(JOIN library_LIBRARIES " " PC_LIBRARIES)
    list(JOIN library_LINK " " PC_LINK)
    set(PC_NAME ${name})
    configure_file(${PROJECT_SOURCE_DIR}/scripts/package/library.pc.in
        ${PROJECT_BINARY_DIR}/package/tidemark-${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/package/tidemark-${name}.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# Called once, after all libraries: writes the files that find_package(tidemark) reads.
function(tidemark_install_package)
    set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/tidemark)
    configure_package_config_file(${PROJECT_SOURCE_DIR}/scripts/package/tidemark-config.cmake.in
        ${PROJECT_BINARY_DIR}/package/tidemark-config.cmake INSTALL_DESTINATION ${folder})
    # Before 1.0 each minor version may change the interface.
    write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/tidemark-config-version.cmake
        COMPATIBILITY SameMinorVersion)
    install(FILES ${PROJECT_BINARY_DIR}/package/tidemark-config.cmake
        ${PROJECT_BINARY_DIR}/package/tidemark-config-version.cmake DESTINATION ${folder})
    # Removes headers that were published earlier and no longer are.
    get_property(published GLOBAL PROPERTY tidemark_published)
    list(TRANSFORM published PREPEND ${tidemark_include}/tidemark/)
    file(GLOB_RECURSE there ${tidemark_include}/tidemark/*)
    list(REMOVE_ITEM there ${published})
    if(there)
        file(REMOVE ${there})
    endif()
    install(EXPORT tidemark-targets NAMESPACE tidemark:: DESTINATION ${folder})
    install(DIRECTORY ${tidemark_include}/tidemark DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endfunction()
