# msrun_embedded_texts(<room> <header> <namespace> FILE...): text files, relative to the top of the sources, that stand in
# a room as strings: each under its own name, the word before the first ".". The header, of the room, declares them.
function(msrun_embedded_texts room header namespace)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/)
  string(REPLACE "/" "_" name ${room})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}_texts.cpp)
  set(maker ${PROJECT_SOURCE_DIR}/cmake/EmbedTexts.cmake)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DTARGET=${source} "-DFILES=${ARGN}" -DHEADER=${room}/${header} -DNAMESPACE=${namespace}
      -P ${maker}
    DEPENDS ${ARGN} ${maker} COMMENT "" VERBATIM)
  target_sources(msrun_${name} PRIVATE ${source})
endfunction()
