/* operators/csv.h - reads a CSV record: one line of cells (RFC 4180), with typed values.
 * Quoted cells are text, byte for byte. Unquoted ones: an integer as it would be printed (`7`,
 * `-12`; not `007`, `+7`), or a decimal (`0.5`), is a number; an empty one is null; all else is
 * text: so a zip code keeps its zeros. Spaces belong to their cell.
 * Thread: any. */
#ifndef BR_OPERATORS_CSV_H
#define BR_OPERATORS_CSV_H

#include "operators/value.h"
#include "runtime/base/arena.h"

/* Reads line into cells[0..count). A line end at its end is dropped. Text borrows line, or lives in
 * arena where doubled quotes had to be undone. BR_ERR_BAD_RECORD: another number of cells, a quote
 * that is not closed or not at the cell's border, a second line. */
BR_MUST_USE br_status br_csv_read(br_bytes line, br_arena *arena, br_value *cells, size_t count,
                                  br_err *err);

#endif
