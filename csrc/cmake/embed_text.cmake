# ftax_embed_text(TARGET NAME FILE): compiles FILE into TARGET as `extern const char ftax::NAME[]`,
# so that the kernels travel inside the extension and no data file can go missing.
function(ftax_embed_text target name file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
    file(READ "${CMAKE_CURRENT_SOURCE_DIR}/${file}" text)
    set(out "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
    file(CONFIGURE OUTPUT "${out}" @ONLY CONTENT
"namespace ftax { extern const char @name@[]; const char @name@[] = R\"embedded(@text@)embedded\"; }
")
    target_sources(${target} PRIVATE "${out}")
endfunction()
