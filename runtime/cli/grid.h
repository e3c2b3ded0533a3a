/* runtime/cli/grid.h - prints rows of cells: aligned columns on a terminal, tabs elsewhere.
 * Control characters of a cell are written as \xNN, so that no record's content can steer a
 * terminal or break a line. */
#ifndef BR_RUNTIME_CLI_GRID_H
#define BR_RUNTIME_CLI_GRID_H

#include "runtime/base/bytes.h"

#include <stdio.h>

typedef struct br_column {
    const char *title;
    bool number; /* aligned to the right */
} br_column;

typedef struct br_grid br_grid;

/* Copies columns; their titles are borrowed. count > 0. */
br_grid *br_grid_create(const br_column *columns, size_t count);
void br_grid_destroy(br_grid *grid); /* NULL is fine */
/* The next cell, from left to right; a full row begins the next. Copies text. */
void br_grid_add(br_grid *grid, br_bytes text);
void br_grid_printf(br_grid *grid, const char *fmt, ...) BR_PRINTF(2, 3);
/* Appends all rows below their titles. aligned: for people, else tab-separated. */
void br_grid_write(const br_grid *grid, bool aligned, br_buf *out);
/* The same to file, aligned where that is a terminal. */
void br_grid_print(const br_grid *grid, FILE *file);

#endif
