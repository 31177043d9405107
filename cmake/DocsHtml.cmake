# The target docs_html: the documentation as pages for a browser, which need no network, made of the Markdown files by
# pandoc. docs_html/navigation.txt lists the pages; what else they show or link to is copied to the same places beside them.
# Without pandoc there is no such target, and nothing of it is installed.
function(add_msrun_docs_html)
  find_program(PANDOC pandoc)
  if(NOT PANDOC)
    message(STATUS "pandoc is not installed: there is no target docs_html")
    return()
  endif()
  set(parts ${PROJECT_SOURCE_DIR}/cmake/docs_html)
  set(to ${CMAKE_BINARY_DIR}/docs_html)
  file(GLOB files RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/docs/images/* ${PROJECT_SOURCE_DIR}/docs/*.json ${PROJECT_SOURCE_DIR}/docs/*.c)
  list(APPEND files LICENSE runner/device/plugin/msrun_plugin.h)
  set(made "")
  foreach(file IN LISTS files)
    add_custom_command(OUTPUT ${to}/${file}
      COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/${file} ${to}/${file}
      DEPENDS ${PROJECT_SOURCE_DIR}/${file} COMMENT "" VERBATIM)
    list(APPEND made ${to}/${file})
  endforeach()
  add_custom_command(OUTPUT ${to}/style.css COMMAND ${CMAKE_COMMAND} -E copy ${parts}/style.css ${to}/style.css
    DEPENDS ${parts}/style.css COMMENT "" VERBATIM)
  list(APPEND made ${to}/style.css)

  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${parts}/navigation.txt)
  file(STRINGS ${parts}/navigation.txt pages REGEX "^  ")
  foreach(line IN LISTS pages)
    string(REGEX REPLACE "^  ([^ ]+) .*" "\\1" page "${line}")
    string(REGEX REPLACE "README[.]md$" "index.html" html ${page})
    string(REGEX REPLACE "[.]md$" ".html" html ${html})
    get_filename_component(folder ${to}/${html} DIRECTORY)
    add_custom_command(OUTPUT ${to}/${html}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
      COMMAND ${CMAKE_COMMAND} -E env MSRUN_PAGE=${page} MSRUN_NAVIGATION=${parts}/navigation.txt "MSRUN_FILES=${files}"
        ${PANDOC} --from gfm --to html5 --wrap preserve --standalone --toc --toc-depth 3 --template ${parts}/page.html
        --lua-filter ${parts}/links.lua --variable version=${PROJECT_VERSION} --output ${to}/${html} ${PROJECT_SOURCE_DIR}/${page}
      DEPENDS ${PROJECT_SOURCE_DIR}/${page} ${parts}/navigation.txt ${parts}/page.html ${parts}/links.lua
      COMMENT "Making the page ${html}" VERBATIM)
    list(APPEND made ${to}/${html})
  endforeach()
  add_custom_target(docs_html ALL DEPENDS ${made})
  install(DIRECTORY ${to}/ DESTINATION share/doc/msrun/html OPTIONAL)
endfunction()
