# smallbatch_library(<room> DESCRIPTION <text> HEADERS <file>... [ROOMS <room>...] [LIBRARIES <library>...]
#                    [PKG_CONFIG_LIBRARIES <name>...] [PKG_CONFIG_REQUIRES <package>...] [FOR_C])
#
# Turns the static library smallbatch_<room>, which must have its sources by now, into a library that others link:
# - Its public headers get the names <smallbatch/<room>/<file>>. They are copies in the build tree, and their includes
#   use these names too. So the compiler never searches a folder of this project for a user's own "core/error.hpp". The
#   copies are installed.
# - smallbatch_<room>_shared is a shared library of the same objects. With BUILD_SHARED_LIBS=ON users get it in place of
#   the static one. It is also built if there are tests.
# - The target is smallbatch::<room>, in this build and for find_package(). The pkg-config file is smallbatch-<room>.pc.
#
# ROOMS: rooms that this one uses. The caller must link smallbatch_<room> of each to the static library: PUBLIC, or
#   PRIVATE with FOR_C.
# LIBRARIES: further libraries that the shared library links. The caller links them to the static library itself.
# PKG_CONFIG_...: libraries that the static library needs, by their names for -l and for pkg-config.
# FOR_C: for users without C++. Headers are <file>, the library is libsmallbatch, and the package is smallbatch.
#
#   add_library(smallbatch_c STATIC potentials.cpp solves.cpp)
#   target_link_libraries(smallbatch_c
#     PRIVATE smallbatch_core smallbatch_solvers smallbatch_physics $<BUILD_INTERFACE:smallbatch_options>)
#   smallbatch_library(c FOR_C DESCRIPTION "..." HEADERS smallbatch.h ROOMS core solvers physics)
function(smallbatch_library room)
  cmake_parse_arguments(arg "FOR_C" "DESCRIPTION"
    "HEADERS;ROOMS;LIBRARIES;PKG_CONFIG_LIBRARIES;PKG_CONFIG_REQUIRES" ${ARGN})
  set(static smallbatch_${room})
  set(shared smallbatch_${room}_shared)
  set(name smallbatch_${room})
  set(folder /smallbatch/${room})
  set(link_rooms PUBLIC)
  if(arg_FOR_C)
    set(name smallbatch)
    set(folder "")
    set(link_rooms PRIVATE)
  endif()

  foreach(header ${arg_HEADERS})
    set(copy ${PROJECT_BINARY_DIR}/include${folder}/${header})
    smallbatch_public_header(${CMAKE_CURRENT_SOURCE_DIR}/${header} ${copy})
    if(SMALLBATCH_INSTALL)
      install(FILES ${copy} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}${folder} COMPONENT development)
    endif()
  endforeach()

  set(shared_rooms ${arg_ROOMS})
  list(TRANSFORM shared_rooms REPLACE "(.+)" "smallbatch_\\1_shared")
  add_library(${shared} SHARED $<TARGET_OBJECTS:${static}>)
  target_link_libraries(${shared} ${link_rooms} ${shared_rooms} PRIVATE ${arg_LIBRARIES})
  target_link_options(${shared} PRIVATE LINKER:--version-script=${smallbatch_symbols} LINKER:--no-undefined)
  set_target_properties(${shared} PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS ${smallbatch_symbols}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} INSTALL_RPATH "$ORIGIN")
  if(NOT BUILD_SHARED_LIBS AND NOT SMALLBATCH_TESTS)
    set_target_properties(${shared} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()

  foreach(target ${static} ${shared})
    target_include_directories(${target} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    if(NOT arg_FOR_C)
      target_compile_features(${target} PUBLIC cxx_std_17)
    endif()
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} EXPORT_NAME ${room})
  endforeach()
  set(chosen static)
  if(BUILD_SHARED_LIBS)
    set(chosen shared)
  endif()
  add_library(smallbatch::${room} ALIAS ${${chosen}})
  if(NOT SMALLBATCH_INSTALL)
    return()
  endif()

  string(REPLACE "_" "-" package ${name})
  list(TRANSFORM arg_ROOMS PREPEND smallbatch- OUTPUT_VARIABLE packages)
  list(TRANSFORM arg_PKG_CONFIG_LIBRARIES PREPEND -l REGEX "^[^-]")
  set(all_packages ${packages} ${arg_PKG_CONFIG_REQUIRES})
  list(JOIN all_packages ", " all_packages)
  list(JOIN packages ", " packages)
  list(JOIN arg_PKG_CONFIG_REQUIRES ", " private_packages)
  list(JOIN arg_PKG_CONFIG_LIBRARIES " " private_libraries)
  file(RELATIVE_PATH prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" prefix ${prefix})

  # The chosen kind is installed. The other kind is installed only by `cmake --install --component`. If both are
  # installed, the pkg-config file of the shared library remains.
  foreach(kind static shared)
    set(unless_asked EXCLUDE_FROM_ALL)
    if(kind STREQUAL chosen)
      set(unless_asked)
    endif()
    install(TARGETS ${${kind}} EXPORT smallbatch-${room}-${kind}
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${kind} ${unless_asked}
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${kind} ${unless_asked})
    install(EXPORT smallbatch-${room}-${kind} NAMESPACE smallbatch:: DESTINATION ${smallbatch_config_folder}
      COMPONENT ${kind} ${unless_asked})
    configure_file(${PROJECT_SOURCE_DIR}/packaging/${kind}.pc.in ${PROJECT_BINARY_DIR}/packaging/${kind}/${package}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/packaging/${kind}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
      COMPONENT ${kind} ${unless_asked})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY smallbatch_rooms ${room})
  set_property(GLOBAL APPEND_STRING PROPERTY smallbatch_stands_on "set(smallbatch_stands_on_${room} ${arg_ROOMS})\n")
endfunction()

# Copies a header to the place from which users include it. Its includes are relative to the project's root; the copy
# uses the names of public headers.
function(smallbatch_public_header source copy)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} text)
  string(REGEX REPLACE "#include \"(core|solvers|physics|io)/" "#include \"smallbatch/\\1/" text "${text}")
  set(old "")
  if(EXISTS ${copy})
    file(READ ${copy} old)
  endif()
  if(NOT text STREQUAL old)
    file(WRITE ${copy} "${text}")
  endif()
endfunction()

set(smallbatch_symbols ${PROJECT_SOURCE_DIR}/packaging/symbols.map)
set(smallbatch_config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/smallbatch)
