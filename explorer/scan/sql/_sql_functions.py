"""The SQL functions that an expression may call, and why others may not.

A function is let through that is known to give the same answer for the same row whenever
and wherever it is asked, and to look at nothing but its arguments. Who wrote the expression
decides about the others (`ExpressionUse`); each kind of function is decided here, once.
"""

from __future__ import annotations

from typing import Final

from explorer.scan.sql.uses import ExpressionUse


def names_in(text: str) -> frozenset[str]:
    """The words of a list that is written as a text."""
    return frozenset(text.split())


_NUMBERS: Final = """
    abs acos asin atan atan2 bround cbrt ceil ceiling cos cosh degrees exp expm1 factorial floor
    greatest hypot isnan least ln log log10 log1p log2 mod nanvl negative pmod positive pow power
    radians rint round sign signum sin sinh sqrt tan tanh try_add try_divide try_multiply
    try_subtract width_bucket bit_count shiftleft shiftright
"""
_TEXTS: Final = """
    ascii base64 bit_length btrim char char_length character_length chr concat concat_ws contains
    elt endswith find_in_set format_string hex ilike initcap instr lcase left length len
    levenshtein like locate lower lpad ltrim octet_length overlay position printf regexp
    regexp_count regexp_extract regexp_instr regexp_like regexp_replace regexp_substr repeat
    replace reverse right rlike rpad rtrim soundex space split split_part startswith substr
    substring substring_index translate trim ucase unbase64 unhex upper
    md5 sha sha1 sha2 crc32 hash xxhash64 get_json_object json_array_length
"""
_TIMES: Final = """
    add_months date_add date_diff date_format date_from_unix_date date_part date_sub date_trunc
    dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear extract from_utc_timestamp
    hour last_day make_date make_timestamp minute month monthname months_between next_day quarter
    second timestamp_micros timestamp_millis timestamp_seconds to_date to_timestamp
    to_utc_timestamp trunc try_to_timestamp unix_date unix_micros unix_millis unix_seconds weekday
    weekofyear year
"""
_CONDITIONS: Final = """
    coalesce equal_null if ifnull isnotnull isnull nullif nullifzero nvl nvl2 zeroifnull
"""
_CASTS: Final = """
    bigint binary boolean date decimal double float int smallint string timestamp tinyint
    cast try_cast
"""
_NESTED: Final = """
    array array_contains array_distinct array_except array_intersect array_join array_max array_min
    array_position array_size array_union arrays_overlap cardinality element_at get map
    map_contains_key map_keys map_values named_struct size sort_array struct try_element_at
"""

ALLOWED_FUNCTIONS: Final = names_in(_NUMBERS + _TEXTS + _TIMES + _CONDITIONS + _CASTS + _NESTED)
"""Their names in lower case, as Spark has them."""

_LAMBDAS: Final = names_in(
    "exists transform filter forall aggregate reduce zip_with map_filter map_zip_with "
    "transform_keys transform_values array_sort"
)
"""Functions that take others: what these do is looked through with the whole expression."""

TABLE_FUNCTIONS: Final = _LAMBDAS | names_in(
    "from_json to_json schema_of_json parse_json try_parse_json variant_get try_variant_get "
    "is_variant_null schema_of_variant to_variant_object from_csv to_csv str_to_map "
    "from_unixtime unix_timestamp to_unix_timestamp to_timestamp_ntz to_timestamp_ltz "
    "try_to_date make_timestamp_ntz make_timestamp_ltz make_interval make_dt_interval "
    "make_ym_interval timestampadd timestampdiff convert_timezone "
    "array_append array_compact array_insert array_prepend array_remove array_repeat arrays_zip "
    "flatten sequence slice map_concat map_entries map_from_arrays map_from_entries "
    "bin bit_get conv e getbit pi sec csc cot asinh acosh atanh try_mod shiftrightunsigned "
    "try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_make_interval "
    "format_number quote json_object_keys is_valid_variant try_parse_url try_url_decode "
    "encode decode is_valid_utf8 make_valid_utf8 validate_utf8 regexp_extract_all sentences "
    "to_binary try_to_binary to_char to_number to_varchar try_to_number typeof url_decode "
    "url_encode parse_url luhn_check mask"
)
"""Those that tables of others call in their own expressions, besides `ALLOWED_FUNCTIONS`."""

RANDOM_FUNCTIONS: Final = names_in("rand randn random randstr uniform uuid shuffle")
"""Functions that may make a value, and never judge one."""

TIME_FUNCTIONS: Final = names_in(_TIMES)
"""Those of them that make a time of a text, too."""

_CODE: Final = "it runs code of the machine that Spark works on"
_CHANCE: Final = "its result differs from call to call"
_PLACE: Final = "its result depends on where and by whom the row is read"
_FILES: Final = "it reads files, not only the row"
_SECRET: Final = "it reaches beyond the row"
_LAMBDA: Final = "lambda functions are not checked"
_EXISTS: Final = "subqueries and lambda functions are not checked"
_ROWS: Final = "it reads other rows, or turns one row into several"

_WHY_NOT: Final[dict[str, str]] = {
    "exists": _EXISTS,
    **dict.fromkeys(("reflect", "java_method", "try_reflect"), _CODE),
    **dict.fromkeys(
        names_in(
            "rand randn random randstr uniform uuid shuffle now current_date current_timestamp "
            "curdate localtimestamp current_time unix_timestamp to_unix_timestamp from_unixtime"
        ),
        _CHANCE,
    ),
    **dict.fromkeys(
        names_in(
            "monotonically_increasing_id spark_partition_id current_user user session_user "
            "current_catalog current_database current_schema current_timezone version"
        ),
        _PLACE,
    ),
    **dict.fromkeys(
        names_in("input_file_name input_file_block_start input_file_block_length read_files"),
        _FILES,
    ),
    **dict.fromkeys(names_in("secret aes_decrypt ai_query http_request"), _SECRET),
    **dict.fromkeys(
        names_in(
            "transform filter forall aggregate reduce zip_with map_filter map_zip_with "
            "transform_keys transform_values array_sort"
        ),
        _LAMBDA,
    ),
    **dict.fromkeys(
        names_in(
            "sum count avg min max first last any some every collect_list collect_set explode "
            "posexplode inline stack row_number rank lag lead"
        ),
        _ROWS,
    ),
}


def why_not_allowed(name: str, use: ExpressionUse = "condition") -> str | None:
    """Why a function may not be called, None where it may."""
    lowered = name.lower()
    if lowered in ALLOWED_FUNCTIONS:
        return None
    if use != "condition" and lowered in TABLE_FUNCTIONS:
        return None
    if use == "value" and lowered in RANDOM_FUNCTIONS:
        return None
    return _WHY_NOT.get(
        lowered,
        "it is none of the functions that are known here to look at their arguments alone; one "
        "that a user defined could do anything",
    )
