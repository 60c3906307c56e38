# ftax_source_digest(VAR): one SHA-256 over the extension's sources, compiled in as its build id.
# ftax_micro/_checkout.py computes the same from a checkout to notice an extension that is out of date.
function(ftax_source_digest variable)
    file(GLOB_RECURSE files RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}/csrc" CONFIGURE_DEPENDS
        csrc/*.cpp csrc/*.hpp csrc/*.ptx)
    list(SORT files)
    set(lines "")
    foreach(file IN LISTS files)
        file(SHA256 "${CMAKE_CURRENT_SOURCE_DIR}/csrc/${file}" hash)
        string(APPEND lines "${file} ${hash}\n")
    endforeach()
    string(SHA256 digest "${lines}")
    set(${variable} "${digest}" PARENT_SCOPE)
endfunction()
