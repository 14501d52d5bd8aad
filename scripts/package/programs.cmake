# The programs and the C library, with the manual page and what shells need to complete our words, as the program
# itself tells them.
set(words ${PROJECT_BINARY_DIR}/words)
file(MAKE_DIRECTORY ${words})
add_custom_command(OUTPUT ${words}/tidemark.1 ${words}/tidemark ${words}/_tidemark ${words}/tidemark.fish
    COMMAND tidemark man > ${words}/tidemark.1
    COMMAND tidemark completion bash > ${words}/tidemark
    COMMAND tidemark completion zsh > ${words}/_tidemark
    COMMAND tidemark completion fish > ${words}/tidemark.fish
    DEPENDS tidemark VERBATIM)
add_custom_target(words ALL DEPENDS ${words}/tidemark.1)
if(TIDEMARK_INSTALL)
    install(TARGETS tidemark RUNTIME)
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
