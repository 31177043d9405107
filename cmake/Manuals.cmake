# The target manuals: manual pages and completions for bash, zsh and fish, made by the programs themselves from the tables
# that their help is made of, and installed where man and the shells look for them.
function(add_msrun_manuals)
  get_property(programs GLOBAL PROPERTY MSRUN_TOOLS)
  # msrun starts tools by their names, those called run_... by what follows, but for these; it tells by --mode which
  # comparison is meant.
  set(tools ${programs})
  list(REMOVE_ITEM tools dump_compare torchair_compare torchair_convert)
  list(TRANSFORM tools REPLACE "^(run_)?(.+)$" "\\2=\\0")
  list(APPEND tools compare=dump_compare convert=torchair_convert)
  set(commands msrun "msrun run_overflow_check" "msrun journal" "msrun merge")
  list(PREPEND programs msrun)
  list(JOIN commands "," commands)
  list(TRANSFORM tools REPLACE "^run_report=" "report=")
  list(JOIN tools "," tools)
  list(JOIN CMAKE_CROSSCOMPILING_EMULATOR "," emulator)
  set(to ${CMAKE_BINARY_DIR}/manuals)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/completion/*)
  set(maker ${PROJECT_SOURCE_DIR}/cmake/MakeManuals.cmake)
  add_custom_command(OUTPUT ${to}/made
    COMMAND ${CMAKE_COMMAND} -DPROGRAMS=${CMAKE_RUNTIME_OUTPUT_DIRECTORY} -DTO=${to}
      -DSOURCE=${PROJECT_SOURCE_DIR}/cmake/completion "-DCOMMANDS=${commands}" "-DTOOLS=${tools}" -DMORE=torchair_compare
      "-DEMULATOR=${emulator}" -P ${maker}
    COMMAND ${CMAKE_COMMAND} -E touch ${to}/made
    DEPENDS ${programs} ${sources} ${maker} COMMENT "Making manual pages and completions" VERBATIM)
  add_custom_target(manuals ALL DEPENDS ${to}/made)
  install(DIRECTORY ${to}/man1 DESTINATION share/man)
  install(DIRECTORY ${to}/bash/ DESTINATION share/bash-completion/completions)
  install(FILES ${to}/_msrun DESTINATION share/zsh/site-functions)
  install(DIRECTORY ${to}/fish/ DESTINATION share/fish/vendor_completions.d)
endfunction()
