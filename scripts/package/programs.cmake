# The programs and the C library, with the manual page and the shell completions that the program itself
# prints.
set(words ${PROJECT_BINARY_DIR}/words)
file(MAKE_DIRECTORY ${words})
add_custom_command(OUTPUT ${words}/tidemark.1 ${words}/tidemark ${words}/_tidemark ${words}/tidemark.fish
    COMMAND tidemark man > ${words}/tidemark.1
    COMMAND tidemark completion bash > ${words}/tidemark
    COMMAND tidemark completion zsh > ${words}/_tidemark
    COMMAND tidemark completion fish > ${words}/tidemark.fish
    DEPENDS tidemark VERBATIM)
add_custom_target(words ALL DEPENDS ${words}/tidemark.1)
# Installs the page of scripts/make-page if it exists; this build doesn't create it.
set(page ${PROJECT_SOURCE_DIR}/build/tidemark.html)
if(TIDEMARK_INSTALL)
    install(TARGETS tidemark RUNTIME)
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_DATADIR}/tidemark OPTIONAL)
    install(TARGETS tidemark_record LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    configure_file(${PROJECT_SOURCE_DIR}/scripts/package/c_library.pc.in
        ${PROJECT_BINARY_DIR}/package/tidemark.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/package/tidemark.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    if(TARGET tidemark::viz)
        install(TARGETS tidemark-view RUNTIME)
    endif()
    install(FILES ${words}/tidemark.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${words}/tidemark DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${words}/_tidemark DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${words}/tidemark.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

# Our files in the folder of the Python package: cmake --install BUILD --component python.
set(for_python COMPONENT python EXCLUDE_FROM_ALL)
if(TIDEMARK_WHEEL)
    set_property(TARGET tidemark tidemark-view APPEND PROPERTY INSTALL_RPATH "$ORIGIN/../lib")
    set_property(TARGET tidemark_c APPEND PROPERTY INSTALL_RPATH "$ORIGIN")
endif()
install(TARGETS tidemark_c LIBRARY DESTINATION lib NAMELINK_SKIP ${for_python})
install(TARGETS tidemark RUNTIME DESTINATION bin ${for_python})
install(TARGETS tidemark_record tidemark_imagined LIBRARY DESTINATION lib ${for_python})
install(FILES ${tidemark_include}/tidemark/tidemark.h ${tidemark_include}/tidemark/tidemark_store.h
    ${tidemark_include}/tidemark/memory_resource.h
    DESTINATION include/tidemark ${for_python})
install(FILES ${page} DESTINATION share/tidemark OPTIONAL ${for_python})
if(TARGET tidemark::viz)
    install(TARGETS tidemark-view RUNTIME DESTINATION bin ${for_python})
    # GLFW is shipped as a library that the viewer loads when it opens a window: if it were linked, the
    # viewer would need X11 even without a window.
    set_property(TARGET tidemark-view APPEND PROPERTY INSTALL_RPATH "$ORIGIN/../lib")
    find_package(glfw3 QUIET)
    if(TARGET glfw)
        install(FILES $<TARGET_FILE:glfw> DESTINATION lib RENAME libglfw.so.3 ${for_python})
    endif()
endif()
# Code inside our files must come with its license. Debian keeps licenses there.
string(REGEX MATCH "^[0-9]+" compiler "${CMAKE_CXX_COMPILER_VERSION}")
foreach(package libcli11-dev libexpected-dev libfmt-dev libgif-dev libglfw3-dev libimgui-dev
        liblzma-dev libpng-dev liburing-dev libxxhash-dev libzstd-dev
        nlohmann-json3-dev zlib1g-dev gcc-${compiler}-base)
    install(FILES /usr/share/doc/${package}/copyright DESTINATION licenses RENAME ${package}
        OPTIONAL ${for_python})
endforeach()
file(GLOB boost /usr/share/doc/libboost1.*-dev/copyright)
foreach(licence IN LISTS boost)
    install(FILES ${licence} DESTINATION licenses RENAME libboost-dev ${for_python})
endforeach()
