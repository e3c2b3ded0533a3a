/* operators/expr_lexer.c - the tokens of native expressions. */
#include "operators/expr_internal.h"

#include "operators/literal.h"
#include "operators/lua_sandbox.h"
#include "runtime/base/alloc.h"

#include <math.h>
#include <stdlib.h>

static const struct {
    const char *text; /* longer ones before those that begin them */
    br_token_kind kind;
    br_expr_op op;
} symbols[] = {
    {"==", TOKEN_OP, EXPR_EQ},      {"!=", TOKEN_OP, EXPR_NE},
    {"~=", TOKEN_OP, EXPR_NE},      {"<=", TOKEN_OP, EXPR_LE},
    {">=", TOKEN_OP, EXPR_GE},      {"<", TOKEN_OP, EXPR_LT},
    {">", TOKEN_OP, EXPR_GT},       {"//", TOKEN_OP, EXPR_FLOOR_DIV},
    {"/", TOKEN_OP, EXPR_DIV},      {"+", TOKEN_OP, EXPR_ADD},
    {"-", TOKEN_OP, EXPR_SUB},      {"*", TOKEN_OP, EXPR_MUL},
    {"%", TOKEN_OP, EXPR_MOD},      {"(", TOKEN_OPEN, EXPR_NO_OP},
    {")", TOKEN_CLOSE, EXPR_NO_OP}, {",", TOKEN_COMMA, EXPR_NO_OP},
};

static const struct {
    const char *text;
    const char *instead;
} foreign[] = {{"&&", "and"}, {"||", "or"}, {"!", "not"}, {"=", "=="}};

static const char *const meta_names[] = {
    [EXPR_KEY] = "key",       [EXPR_TIMESTAMP] = "timestamp", [EXPR_PARTITION] = "partition",
    [EXPR_OFFSET] = "offset", [EXPR_TOPIC] = "topic",         [EXPR_HEADER] = "header",
};

br_status br_expr_fail_at(size_t at, br_err *err)
{
    return br_wrap(err, "column %zu", at + 1);
}

const char *br_expr_op_text(br_expr_op op)
{
    if (op == EXPR_OR) return "or";
    if (op == EXPR_AND) return "and";
    if (op == EXPR_NOT) return "not";
    if (op == EXPR_NEGATE) return "-";
    for (size_t i = 0; i < BR_COUNTOF(symbols); i++)
        if (symbols[i].op == op) return symbols[i].text;
    return "?";
}

static br_bytes from(br_bytes text, size_t at)
{
    return br_bytes_of(text.data + at, text.len - at);
}

static bool begins_with(br_bytes text, br_bytes head)
{
    return text.len >= head.len && memcmp(text.data, head.data, head.len) == 0;
}

static size_t skip_blanks(br_bytes text, size_t at)
{
    while (at < text.len && strchr(" \t\r\n", text.data[at]) && text.data[at] != '\0') at++;
    return at;
}

static size_t digits(br_bytes text, size_t at)
{
    size_t n = 0;
    while (at + n < text.len && text.data[at + n] >= '0' && text.data[at + n] <= '9') n++;
    return n;
}

/* 12, 1.5, 1e9, 1.5e-3. A dot that begins `..` is none of the number's. */
static size_t number_len(br_bytes text, bool *whole)
{
    size_t n = digits(text, 0);
    *whole = true;
    if (n < text.len && text.data[n] == '.' && digits(text, n + 1) > 0) {
        n += 1 + digits(text, n + 1);
        *whole = false;
    }
    if (n < text.len && (text.data[n] == 'e' || text.data[n] == 'E')) {
        size_t sign = n + 1 < text.len && strchr("+-", text.data[n + 1]) ? 1 : 0;
        if (digits(text, n + 1 + sign) == 0) return n;
        n += 1 + sign + digits(text, n + 1 + sign);
        *whole = false;
    }
    return n;
}

static br_status number(br_bytes text, br_token *out, br_err *err)
{
    bool whole;
    br_i128 integer;
    size_t len = number_len(text, &whole);
    out->text = br_bytes_of(text.data, len);
    if (br_identifier_len(from(text, len)) > 0)
        return br_fail(err, BR_ERR_CONFIG, "a number and a name with nothing between them");
    if (whole && !br_int128_parse(out->text, &integer))
        return br_fail(err, BR_ERR_LIMIT, "a number beyond 128 bits");
    char *copy = br_strndup(text.data, len);
    br_value value = whole ? br_value_i128(integer) : br_value_float(strtod(copy, NULL));
    br_free(copy);
    if (value.kind == BR_FLOAT && !isfinite(value.f))
        return br_fail(err, BR_ERR_LIMIT, "a number too large for a float");
    out->kind = TOKEN_LITERAL;
    out->node = br_expr_node_create(EXPR_LITERAL, out->at);
    out->node->value = value;
    return BR_OK;
}

static br_status quoted(br_bytes text, br_token *out, br_err *err)
{
    br_buf said = {0};
    size_t used;
    br_status st = br_literal_parse(text, &said, &used, err);
    out->text = br_bytes_of(text.data, used);
    out->at += st == BR_OK ? 0 : used; /* the byte at fault */
    if (st == BR_OK) {
        out->kind = TOKEN_LITERAL;
        out->node = br_expr_node_create(EXPR_LITERAL, out->at);
        out->node->name = br_strndup(br_buf_cstr(&said), said.len);
        out->node->value = br_value_text(br_bytes_of(out->node->name, said.len));
    }
    br_buf_dispose(&said);
    return st;
}

static size_t header_name_len(br_bytes text)
{
    size_t n = 0;
    while (n < text.len &&
           (br_identifier_len(from(text, n)) > 0 || text.data[n] == '-' || digits(text, n) > 0))
        n++;
    return n;
}

static br_status meta(br_bytes text, br_expr_node *node, size_t *used, br_err *err)
{
    br_bytes name = br_bytes_of(text.data + 1, br_identifier_len(from(text, 1)));
    size_t i = 0;
    while (i < BR_COUNTOF(meta_names) && !br_bytes_equal(name, br_str(meta_names[i]))) i++;
    if (i == BR_COUNTOF(meta_names))
        return br_fail(err, BR_ERR_CONFIG,
                       "unknown `@%.*s`; there are @key @timestamp @partition @offset @topic "
                       "@header.NAME",
                       (int)name.len, name.data);
    node->meta = (br_expr_meta)i;
    *used = 1 + name.len;
    if (node->meta != EXPR_HEADER) return BR_OK;
    bool dot = *used < text.len && text.data[*used] == '.';
    size_t len = dot ? header_name_len(from(text, *used + 1)) : 0;
    if (len == 0)
        return br_fail(err, BR_ERR_CONFIG,
                       "@header needs a name: @header.NAME, of A-Z a-z 0-9 _ -");
    node->name = br_strndup(text.data + *used + 1, len);
    *used += 1 + len;
    return BR_OK;
}

br_status br_expr_token_meta(br_bytes text, size_t at, br_expr_node **out, size_t *used,
                             br_err *err)
{
    *out = br_expr_node_create(EXPR_META, at);
    br_status st = meta(from(text, at), *out, used, err);
    if (st == BR_OK) return BR_OK;
    br_expr_node_destroy(*out);
    *out = NULL;
    return br_expr_fail_at(at, err);
}

/* and or not true false null nil. */
static bool keyword(br_bytes name, br_token *out)
{
    static const struct {
        const char *text;
        br_expr_op op;
        br_value value;
    } keywords[] = {
        {"and", EXPR_AND, {0}},
        {"or", EXPR_OR, {0}},
        {"not", EXPR_NOT, {0}},
        {"true", EXPR_NO_OP, {.kind = BR_BOOL, .b = true}},
        {"false", EXPR_NO_OP, {.kind = BR_BOOL, .b = false}},
        {"null", EXPR_NO_OP, {.kind = BR_NULL}},
        {"nil", EXPR_NO_OP, {.kind = BR_NULL}},
    };
    for (size_t i = 0; i < BR_COUNTOF(keywords); i++) {
        if (!br_bytes_equal(name, br_str(keywords[i].text))) continue;
        out->text = name;
        out->op = keywords[i].op;
        out->kind = out->op == EXPR_NO_OP ? TOKEN_LITERAL : TOKEN_OP;
        if (out->op != EXPR_NO_OP) return true;
        out->node = br_expr_node_create(EXPR_LITERAL, out->at);
        out->node->value = keywords[i].value;
        return true;
    }
    return false;
}

/* math.pi and the like: no field natively either, or it would be null for every record. */
static bool is_lua_name(const br_path *path)
{
    return path->count > 1 && path->steps[1].name &&
           br_lua_has_member(br_str(path->steps[0].name), br_str(path->steps[1].name));
}

static br_status field(br_bytes text, br_token *out, br_err *err)
{
    br_path path;
    size_t used;
    br_status st = br_path_parse_prefix(&path, text, &used, err);
    out->text = br_bytes_of(text.data, used);
    out->at += st == BR_OK ? 0 : used;
    if (st != BR_OK) return st;
    if (is_lua_name(&path)) {
        br_path_dispose(&path);
        return br_fail(err, BR_ERR_CONFIG, "`%.*s` is a name of Lua", (int)used, text.data);
    }
    out->kind = TOKEN_FIELD;
    out->node = br_expr_node_create(EXPR_FIELD, out->at);
    out->node->path = path;
    return BR_OK;
}

static br_status name(br_bytes text, size_t len, br_token *out, br_err *err)
{
    size_t next = skip_blanks(text, len);
    if (keyword(br_bytes_of(text.data, len), out)) return BR_OK;
    if (next >= text.len || text.data[next] != '(') return field(text, out, err);
    out->kind = TOKEN_CALL;
    out->text = br_bytes_of(text.data, len);
    return BR_OK;
}

static br_status symbol(br_bytes text, br_token *out, br_err *err)
{
    for (size_t i = 0; i < BR_COUNTOF(symbols); i++) {
        if (!begins_with(text, br_str(symbols[i].text))) continue;
        out->kind = symbols[i].kind;
        out->op = symbols[i].op;
        out->text = br_bytes_of(text.data, strlen(symbols[i].text));
        return BR_OK;
    }
    for (size_t i = 0; i < BR_COUNTOF(foreign); i++)
        if (begins_with(text, br_str(foreign[i].text)))
            return br_fail(err, BR_ERR_CONFIG, "`%s` is no operator here; it is `%s`",
                           foreign[i].text, foreign[i].instead);
    if (text.data[0] > ' ' && text.data[0] < 0x7f)
        return br_fail(err, BR_ERR_CONFIG, "unexpected `%c`", text.data[0]);
    return br_fail(err, BR_ERR_CONFIG,
                   "unexpected byte 0x%02x; other names than A-Z a-z 0-9 _ are written .\"name\"",
                   (unsigned)(unsigned char)text.data[0]);
}

static br_status token(br_bytes whole, br_token *out, br_err *err)
{
    br_bytes text = from(whole, out->at);
    if (text.len == 0) return BR_OK; /* TOKEN_END */
    char c = text.data[0];
    size_t len = br_identifier_len(text);
    if (len > 0) return name(text, len, out, err);
    if (c >= '0' && c <= '9') return number(text, out, err);
    if (c == '"' || c == '\'') return quoted(text, out, err);
    if (c == '.' && text.len > 1 && (text.data[1] == '"' || text.data[1] == '\''))
        return field(text, out, err);
    return symbol(text, out, err);
}

br_status br_expr_token(br_bytes text, size_t at, br_token *out, br_err *err)
{
    size_t used;
    *out = (br_token){.kind = TOKEN_END, .at = skip_blanks(text, at)};
    if (out->at < text.len && text.data[out->at] == '@') {
        br_status st = br_expr_token_meta(text, out->at, &out->node, &used, err);
        if (st != BR_OK) return st;
        out->kind = TOKEN_META;
        out->text = br_bytes_of(text.data + out->at, used);
        return BR_OK;
    }
    return token(text, out, err) == BR_OK ? BR_OK : br_expr_fail_at(out->at, err);
}
