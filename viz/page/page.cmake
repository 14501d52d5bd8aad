# The viewer as WebAssembly, which scripts/make-page puts into one file: all of it except windows,
# files of pictures and the server.
add_executable(tidemark_page page/page_view.cpp page/exports.cpp serve/remote_view.cpp
    serve/browser_events.cpp serve/browser_keys.cpp serve/frame_encoder.cpp
    headless/offscreen.cpp headless/rasteriser.cpp headless/raster_textures.cpp)
tidemark_unit(tidemark_page views views)
tidemark_unit(tidemark_page rest draw shell)
target_link_libraries(tidemark_page PRIVATE tidemark_viz_model PkgConfig::IMGUI ZLIB::ZLIB)
target_link_options(tidemark_page PRIVATE -O3 -sENVIRONMENT=worker -sMODULARIZE=1
    -sEXPORT_NAME=createTidemark -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB -sSTACK_SIZE=4MB
    -sINVOKE_RUN=0 -sFORCE_FILESYSTEM=1 -lworkerfs.js --no-entry
    -sEXPORTED_FUNCTIONS=_malloc,_free -sEXPORTED_RUNTIME_METHODS=FS,WORKERFS,HEAPU8,ccall,stringToNewUTF8
    "SHELL:--embed-file ${TIDEMARK_PAGE_FONTS}@/usr/share/fonts/truetype/dejavu")
set_target_properties(tidemark_page PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
    OUTPUT_NAME tidemark-page)
