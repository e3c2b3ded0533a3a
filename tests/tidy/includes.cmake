# tests/tidy/includes.cmake - who may include whom: a forbidden #include fails the build.
# Usage: cmake -DROOT=<repository> -P includes.cmake
# Headers of a folder that is not linked to do not compile at all (br_module in the root
# CMakeLists.txt); this also finds what would compile: third-party headers, which every compiler
# finds in the system's include folder, and "../".

cmake_minimum_required(VERSION 3.25)

# files (first match counts) : the project's folders that it may include
set(folders
  "runtime/base/.* : runtime/base/"
  "runtime/.* : runtime/ jobs/ operators/ state/ proto/"
  "jobs/.* : jobs/ operators/ proto/ runtime/base/"
  "operators/.* : operators/ state/ proto/ runtime/base/"
  "state/.* : state/ proto/ runtime/base/"
  "tests/kafka/.* : fixture.h tests/ runtime/ operators/ proto/"
  "tests/.* : tests/ support/ unit/ fuzz/ runtime/ jobs/ operators/ state/ proto/")

# third-party header : files that may include it (`brine version` names them all)
set(versions " runtime/cli/version\\.c")
set(third_party
  "librdkafka/.* : runtime/log/kafka[a-z_]*\\.[ch] tests/bench/.* tests/kafka/.*"
  "lmdb\\.h : state/.* runtime/log/local[a-z_]*\\.[ch] tests/unit/(state|runtime)/.*${versions}"
  "lz4[a-z]*\\.h : state/.*${versions}"
  "simdjson\\.h : operators/[a-z_]*\\.[ch]pp"
  "(lua|lauxlib|lualib)\\.h : operators/(expr_lua|lua_)[a-z_]*\\.[ch]"
  "yaml\\.h : jobs/yaml\\.c"
  "xxhash\\.h : runtime/base/hash\\.c"
  "mimalloc\\.h : runtime/main\\.c"
  "protobuf-c/.* : state/.* operators/.* jobs/.* runtime/.* tests/.*"
  "cmocka\\.h : tests/.*"
  # C++'s own, for the one C++ file
  "(algorithm|charconv|cmath|cstdint|cstring|limits|memory|new) : operators/[a-z_]*\\.[ch]pp"
  "(string|string_view|utility|vector) : operators/[a-z_]*\\.[ch]pp")

string(CONCAT libc "^(assert|ctype|dirent|errno|fcntl|float|ftw|getopt|inttypes|limits|locale|math"
       "|poll|pthread|sched|setjmp|signal|spawn|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib"
       "|string|strings|syslog|time|unistd|(sys|netinet|arpa|linux)/[a-z]+)\\.h$")

# Sets <out> to TRUE if text matches one of the space-separated patterns as a whole.
function(matches_one out text patterns)
  string(REPLACE " " ";" patterns "${patterns}")
  set(${out} FALSE PARENT_SCOPE)
  foreach(pattern IN LISTS patterns)
    if(text MATCHES "^(${pattern})$")
      set(${out} TRUE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# The second column of the first row whose first column matches text as a whole.
function(look_up out text rows)
  set(${out} "" PARENT_SCOPE)
  foreach(row IN LISTS rows)
    string(REGEX REPLACE " : .*$" "" pattern "${row}")
    if(text MATCHES "^(${pattern})$")
      string(REGEX REPLACE "^.* : " "" allowed "${row}")
      set(${out} "${allowed}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

function(forbid file header why)
  set_property(GLOBAL APPEND_STRING PROPERTY forbidden
               "\n  ${file}: #include of ${header} is forbidden: ${why}")
endfunction()

function(check_project_header file header)
  look_up(allowed "${file}" "${folders}")
  string(REPLACE " " ";" allowed "${allowed}")
  foreach(folder IN LISTS allowed)
    if(header MATCHES "^${folder}")
      return()
    endif()
  endforeach()
  forbid(${file} ${header} "from here only ${allowed}")
endfunction()

function(check_system_header file header)
  look_up(allowed "${header}" "${third_party}")
  if(allowed STREQUAL "")
    if(NOT header MATCHES "${libc}")
      forbid(${file} ${header} "neither libc's nor a library of the table in includes.cmake")
    endif()
    return()
  endif()
  matches_one(good "${file}" "${allowed}")
  if(NOT good)
    forbid(${file} ${header} "only ${allowed} may")
  endif()
endfunction()

function(check_include file line)
  if(NOT line MATCHES "^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"]+)[>\"]")
    forbid(${file} "${line}" "not a plain header name")
    return()
  endif()
  set(quote "${CMAKE_MATCH_1}")
  set(header "${CMAKE_MATCH_2}")
  if(header MATCHES "\\.\\./" OR header MATCHES "\\.(c|cpp)$")
    forbid(${file} ${header} "includes are rooted and are never sources")
  elseif(quote STREQUAL "\"" OR header MATCHES "^proto/")
    check_project_header(${file} ${header})
  else()
    check_system_header(${file} ${header})
  endif()
endfunction()

foreach(folder runtime operators state jobs proto tests)
  file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/${folder}/*.c ${ROOT}/${folder}/*.h
       ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.hpp)
  foreach(source IN LISTS sources)
    file(STRINGS ${ROOT}/${source} lines REGEX "^[ \t]*#[ \t]*include")
    foreach(line IN LISTS lines)
      check_include(${source} "${line}")
    endforeach()
  endforeach()
endforeach()

get_property(forbidden GLOBAL PROPERTY forbidden)
if(forbidden)
  message(FATAL_ERROR "who may include whom (tests/tidy/includes.cmake):${forbidden}")
endif()
