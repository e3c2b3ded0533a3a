/* operators/expr_lua_scan.c - see expr_lua_scan.h. */
#include "operators/expr_lua_scan.h"

#include "operators/lua_sandbox.h"
#include "runtime/base/alloc.h"
#include "runtime/base/limits.h"

#include <inttypes.h>

enum { LOCALS_MAX = 64 };

typedef struct scan {
    br_bytes text;
    size_t at;
    br_buf out; /* the expression with its fields renamed */
    br_lua_chunk *chunk;
    char brackets[BR_EXPR_DEPTH_MAX];
    int depth;
    bool member;   /* behind . or : stands a name of a table */
    bool declares; /* behind local, for and function( stand names of locals */
    br_bytes locals[LOCALS_MAX];
    size_t local_count;
    br_err *err;
} scan;

static br_bytes rest_of(const scan *s)
{
    return br_bytes_of(s->text.data + s->at, s->text.len - s->at);
}

static char peek(const scan *s, size_t ahead)
{
    return s->at + ahead < s->text.len ? s->text.data[s->at + ahead] : '\0';
}

static void copy(scan *s, size_t len)
{
    br_buf_add(&s->out, s->text.data + s->at, len);
    s->at += len;
}

static br_status fail(scan *s, const char *what)
{
    br_fail(s->err, BR_ERR_CONFIG, "%s", what);
    return br_expr_fail_at(s->at, s->err);
}

static bool one_of(const char *const *words, size_t count, br_bytes word)
{
    for (size_t i = 0; i < count; i++)
        if (br_bytes_equal(word, br_str(words[i]))) return true;
    return false;
}

/* [[ … ]] or [==[ … ]==]: the whole length; 0: it is none, or has no end. */
static size_t long_text_len(br_bytes text)
{
    size_t level = 1;
    while (level < text.len && text.data[level] == '=') level++;
    if (level >= text.len || text.data[level] != '[') return 0;
    for (size_t i = level + 1; i + level < text.len; i++) {
        if (text.data[i] != ']' || text.data[i + level] != ']') continue;
        if (memcmp(text.data + i + 1, text.data + 1, level - 1) == 0) return i + level + 1;
    }
    return 0;
}

static size_t quoted_len(br_bytes text)
{
    for (size_t i = 1; i < text.len; i++) {
        if (text.data[i] == text.data[0]) return i + 1;
        if (text.data[i] == '\\') i++;
    }
    return 0;
}

static size_t number_len(br_bytes text)
{
    bool hex = text.len > 1 && (text.data[1] == 'x' || text.data[1] == 'X');
    size_t n = 0;
    for (; n < text.len; n++) {
        char c = text.data[n];
        bool letter = br_identifier_len(br_bytes_of(&c, 1)) > 0;
        bool sign = (c == '+' || c == '-') && n > 0 && strchr(hex ? "pP" : "eE", text.data[n - 1]);
        if (!letter && !sign && c != '.' && (c < '0' || c > '9')) break;
    }
    return n;
}

static bool is_local(const scan *s, br_bytes name)
{
    for (size_t i = 0; i < s->local_count; i++)
        if (br_bytes_equal(s->locals[i], name)) return true;
    return false;
}

static bool same_argument(const br_expr_node *a, const br_expr_node *b)
{
    if (a->kind != b->kind) return false;
    if (a->kind == EXPR_FIELD) return br_path_equal(&a->path, &b->path);
    return a->meta == b->meta && (a->meta != EXPR_HEADER || strcmp(a->name, b->name) == 0);
}

static bool is_keyword(br_bytes word)
{
    static const char *const keywords[] = {
        "and",      "break",  "do",   "else", "elseif", "end",   "false", "for",
        "function", "goto",   "if",   "in",   "local",  "nil",   "not",   "or",
        "repeat",   "return", "then", "true", "until",  "while",
    };
    return one_of(keywords, BR_COUNTOF(keywords), word);
}

/* The names that arguments get, and the one that would change what all others mean. */
static bool is_reserved(br_bytes name)
{
    if (br_bytes_equal(name, br_str("_ENV"))) return true;
    return name.len >= 4 && memcmp(name.data, "__br", 4) == 0;
}

/* Whether Lua can call a field by its own name, so that its messages read well. */
static bool keeps_name(br_bytes name)
{
    return name.len > 0 && br_identifier_len(name) == name.len && !is_reserved(name) &&
           !is_keyword(name) && !br_lua_has_function(name) && !br_lua_has_library(name);
}

static void print_argument(const br_lua_chunk *chunk, size_t i, br_buf *out)
{
    const br_expr_node *arg = chunk->args[i];
    br_bytes name = br_bytes_of("", 0);
    if (arg->kind == EXPR_FIELD && arg->path.count == 1) name = br_str(arg->path.steps[0].name);
    if (keeps_name(name))
        br_buf_addb(out, name);
    else
        br_buf_printf(out, "__br%zu", i);
}

/* Takes arg, which is len bytes of the text. */
static br_status add_argument(scan *s, br_expr_node *arg, size_t len)
{
    br_lua_chunk *chunk = s->chunk;
    size_t i = 0;
    while (i < chunk->arg_count && !same_argument(chunk->args[i], arg)) i++;
    if (i < chunk->arg_count) {
        br_expr_node_destroy(arg);
    } else {
        chunk->args = br_realloc(chunk->args, (i + 1) * sizeof(br_expr_node *));
        chunk->args[chunk->arg_count++] = arg;
    }
    print_argument(chunk, i, &s->out);
    s->at += len;
    if (chunk->arg_count <= BR_LUA_ARGUMENTS_MAX) return BR_OK;
    return br_fail(s->err, BR_ERR_LIMIT, "more than %d different fields", BR_LUA_ARGUMENTS_MAX);
}

/* The first byte behind `len` more bytes and blanks. */
static char next_byte(const scan *s, size_t len, size_t *ahead)
{
    while (peek(s, len) == ' ' || peek(s, len) == '\t' || peek(s, len) == '\n') len++;
    *ahead = len;
    return peek(s, len);
}

/* Whether `len` more bytes are called: f(x), f"x", f{x}. */
static bool is_called(const scan *s, size_t len)
{
    size_t ahead;
    char next = next_byte(s, len, &ahead);
    return next != '\0' && strchr("({\"'", next);
}

static bool is_table_key(const scan *s, size_t len)
{
    size_t ahead;
    return s->depth > 0 && s->brackets[s->depth - 1] == '{' && next_byte(s, len, &ahead) == '=' &&
           peek(s, ahead + 1) != '=';
}

static br_status scan_path(scan *s)
{
    br_path path;
    size_t used;
    br_status st = br_path_parse_prefix(&path, rest_of(s), &used, s->err);
    if (st != BR_OK) return br_expr_fail_at(s->at + used, s->err);
    br_bytes text = br_bytes_of(s->text.data + s->at, used);
    if (is_called(s, used)) {
        br_path_dispose(&path);
        s->chunk->only_lua = s->chunk->only_lua || memchr(text.data, '.', text.len);
        br_fail(s->err, BR_ERR_CONFIG, "no function `%.*s` here",
                (int)(text.len < 40 ? text.len : 40), text.data);
        return br_expr_fail_at(s->at, s->err);
    }
    br_expr_node *arg = br_expr_node_create(EXPR_FIELD, s->at);
    arg->path = path;
    return add_argument(s, arg, used);
}

static br_status scan_meta(scan *s)
{
    br_expr_node *arg;
    size_t used;
    br_status st = br_expr_token_meta(s->text, s->at, &arg, &used, s->err);
    return st == BR_OK ? add_argument(s, arg, used) : st;
}

static br_status declare(scan *s, br_bytes name)
{
    if (is_reserved(name)) return fail(s, "a local must not be called _ENV, nor begin with __br");
    if (s->local_count == LOCALS_MAX) return fail(s, "more than 64 locals");
    s->locals[s->local_count++] = name;
    copy(s, name.len);
    return BR_OK;
}

static void scan_keyword(scan *s, br_bytes word)
{
    static const char *const native[] = {"and", "or", "not", "true", "false", "nil"};
    static const char *const declaring[] = {"function", "local", "for"};
    s->declares = one_of(declaring, BR_COUNTOF(declaring), word);
    if (!one_of(native, BR_COUNTOF(native), word)) s->chunk->only_lua = true;
    copy(s, word.len);
}

/* A sandbox name counts as one only where it is used as one, so that a record may have a field
 * that is called type or table. */
static bool is_sandbox_name(const scan *s, br_bytes word)
{
    size_t dot;
    if (br_lua_has_function(word)) return is_called(s, word.len);
    if (next_byte(s, word.len, &dot) != '.') return false;
    br_bytes member = br_bytes_of(s->text.data + s->at + dot + 1, s->text.len - s->at - dot - 1);
    member.len = br_identifier_len(member);
    return br_lua_has_member(word, member);
}

static br_status scan_word(scan *s, size_t len, bool member)
{
    br_bytes word = br_bytes_of(s->text.data + s->at, len);
    if (member) {
        copy(s, len);
    } else if (is_keyword(word)) {
        scan_keyword(s, word);
    } else if (s->declares) {
        return declare(s, word);
    } else if (br_bytes_equal(word, br_str("null"))) {
        br_buf_adds(&s->out, "nil");
        s->at += len;
    } else if (is_local(s, word) || is_table_key(s, len)) {
        copy(s, len);
    } else if (is_sandbox_name(s, word)) {
        s->chunk->only_lua = s->chunk->only_lua || !br_function_find(word);
        copy(s, len);
    } else {
        return scan_path(s);
    }
    return BR_OK;
}

static br_status scan_bracket(scan *s, char c)
{
    static const char opening[] = "([{", closing[] = ")]}";
    const char *close = strchr(closing, c);
    if (c != '(' && c != ')') s->chunk->only_lua = true;
    if (!close) {
        if (s->depth == BR_EXPR_DEPTH_MAX) return fail(s, "too many brackets in one another");
        s->brackets[s->depth++] = c;
    } else {
        if (s->depth == 0 || s->brackets[s->depth - 1] != opening[close - closing])
            return fail(s, "a closing bracket that matches none");
        s->depth--;
        s->declares = false; /* the parameters of a function are read */
    }
    copy(s, 1);
    return BR_OK;
}

static br_status scan_symbol(scan *s, char c)
{
    if (c == '-' && peek(s, 1) == '-') return fail(s, "-- would begin a comment; write - -x");
    if (c == '!' && peek(s, 1) == '=') {
        br_buf_adds(&s->out, "~=");
        s->at += 2;
        return BR_OK;
    }
    bool dots = c == '.' && peek(s, 1) == '.';
    if (dots || strchr("#:^&|;", c) || (c == '~' && peek(s, 1) != '=')) s->chunk->only_lua = true;
    if (c == '=' && peek(s, 1) != '=') s->declares = false;
    if ((c == '=' || c == '<' || c == '>' || c == '~') && peek(s, 1) == '=') copy(s, 1);
    s->member = (c == '.' && !dots) || c == ':';
    copy(s, dots ? 2 : 1);
    return BR_OK;
}

static br_status scan_text(scan *s, size_t len)
{
    if (len == 0) return fail(s, "a text that has no end");
    copy(s, len);
    return BR_OK;
}

/* Lua would read a decimal integer beyond 64 bits as a float, and lose its last digits. */
static br_status scan_number(scan *s)
{
    size_t len = number_len(rest_of(s));
    br_bytes digits = br_bytes_of(s->text.data + s->at, len);
    br_i128 v = 0;
    bool decimal = true;
    for (size_t i = 0; i < len; i++)
        decimal = decimal && digits.data[i] >= '0' && digits.data[i] <= '9';
    if (!decimal || (br_int128_parse(digits, &v) && v <= INT64_MAX)) return scan_text(s, len);
    return fail(s, "an integer beyond 64 bits, which Lua cannot hold");
}

static br_status scan_next(scan *s)
{
    char c = peek(s, 0);
    br_bytes rest = rest_of(s);
    size_t word = br_identifier_len(rest);
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        copy(s, 1);
        return BR_OK;
    }
    bool member = s->member;
    s->member = false;
    if (word > 0) return scan_word(s, word, member);
    if (c == '"' || c == '\'') return scan_text(s, quoted_len(rest));
    if (c == '[' && (peek(s, 1) == '[' || peek(s, 1) == '=')) {
        s->chunk->only_lua = true;
        return scan_text(s, long_text_len(rest));
    }
    if (c >= '0' && c <= '9') return scan_number(s);
    if (c == '@') return scan_meta(s);
    if (c == '.' && (peek(s, 1) == '"' || peek(s, 1) == '\'')) return scan_path(s);
    if (strchr("()[]{}", c)) return scan_bracket(s, c);
    return scan_symbol(s, c);
}

static void write_chunk(const scan *s, br_lua_chunk *out)
{
    for (size_t i = 0; i < out->arg_count; i++) {
        br_buf_adds(&out->text, i == 0 ? "local " : ",");
        print_argument(out, i, &out->text);
    }
    br_buf_printf(&out->text, "%sreturn (", out->arg_count > 0 ? "=... " : "");
    br_buf_addb(&out->text, br_buf_bytes(&s->out));
    br_buf_addc(&out->text, ')');
}

br_status br_lua_scan(br_bytes text, br_lua_chunk *out, br_err *err)
{
    scan s = {.text = text, .chunk = out, .err = err};
    br_status st = BR_OK;
    *out = (br_lua_chunk){0};
    while (st == BR_OK && s.at < text.len) st = scan_next(&s);
    if (st == BR_OK && s.depth > 0) st = fail(&s, "a bracket that is not closed");
    if (st == BR_OK) write_chunk(&s, out);
    br_buf_dispose(&s.out);
    return st;
}

void br_lua_chunk_dispose(br_lua_chunk *chunk)
{
    for (size_t i = 0; i < chunk->arg_count; i++) br_expr_node_destroy(chunk->args[i]);
    br_free(chunk->args);
    br_buf_dispose(&chunk->text);
    *chunk = (br_lua_chunk){0};
}
