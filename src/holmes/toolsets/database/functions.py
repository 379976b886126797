"""The functions that only read, by dialect. What is not here is refused, whatever it may do.

Facts: the built-in functions of PostgreSQL 15 to 18 that pg_proc calls immutable or stable, and those of its volatile
ones that only look; MariaDB's information_schema.sql_functions and MySQL 8.4's manual; SQLite's pragma_function_list.
Left out on purpose, though some look harmless: whatever waits, locks, signals, draws from a sequence, touches files or
large objects, sets anything, makes transaction ids, or runs SQL given to it as text (query_to_xml, ts_stat, dblink).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_COMMON = """
abs acos asin atan atan2 avg bigint binary bit bit_and bit_length bit_or bit_xor bool boolean cast ceil ceiling char
char_length character character_length coalesce concat concat_ws cos cot count cume_dist current_date current_time
current_timestamp current_user date decimal degrees dense_rank double exp extract first_value float floor format
greatest hex if ifnull iif instr int integer isnull json_array json_array_length json_extract json_insert json_object
json_quote json_remove json_replace json_set json_type json_valid lag last_value lead least left length ln localtime
localtimestamp log log10 log2 lower lpad ltrim max md5 min mod nchar now nth_value ntile nullif numeric octet_length
percent_rank percentile_cont percentile_disc pi position pow power quote radians rank real repeat replace reverse
right round row_number rpad rtrim session_user sign sin smallint sqrt stddev stddev_pop stddev_samp substr substring
sum tan text time timestamp trim trunc upper user var_pop var_samp varbinary varchar variance varying version
"""

_POSTGRES = """
acldefault aclexplode acosd acosh age akeys any_value approximate_row_count area array_agg array_append array_cat
array_dims array_fill array_length array_lower array_ndims array_position array_positions array_prepend array_remove
array_replace array_reverse array_sample array_shuffle array_sort array_to_json array_to_string array_to_tsvector
array_upper ascii asind asinh atan2d atand atanh avals bernoulli bit_count bool_and bool_or bound_box box bpchar
broadcast btrim cardinality casefold cbrt center chr chunk_compression_stats chunks_detailed_size cidr circle
clock_timestamp col_description collation convert convert_from convert_to corr cosd cosh cotd covar_pop covar_samp
crc32 crc32c current_catalog current_database current_query current_role current_schema current_schemas
current_setting date_add date_bin date_part date_subtract date_trunc datemultirange daterange dec decode diameter
difference digest div dmetaphone encode enum_first enum_last enum_range erf erfc every factorial family first float4
float8 format_type gamma gcd gen_random_uuid generate_series generate_subscripts get_bit get_byte
get_current_ts_config getdatabaseencoding grouping height hmac host hostmask hstore_to_json
hypertable_compression_stats hypertable_detailed_size hypertable_size inet inet_client_addr inet_client_port
inet_merge inet_same_family inet_server_addr inet_server_port initcap int2 int4 int4multirange int4range int8
int8multirange int8range interpolate interval is_normalized isclosed isempty isfinite isopen json_agg
json_array_elements json_array_elements_text json_arrayagg json_build_array json_build_object json_each json_each_text
json_exists json_extract_path json_extract_path_text json_object_agg json_object_keys json_objectagg
json_populate_record json_populate_recordset json_query json_scalar json_serialize json_strip_nulls json_table
json_to_record json_to_recordset json_to_tsvector json_typeof json_value jsonb jsonb_agg jsonb_array_elements
jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text
jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_agg jsonb_object_keys
jsonb_path_exists jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz jsonb_path_query jsonb_path_query_array
jsonb_path_query_array_tz jsonb_path_query_first jsonb_path_query_first_tz jsonb_path_query_tz jsonb_populate_record
jsonb_populate_recordset jsonb_pretty jsonb_set jsonb_set_lax jsonb_strip_nulls jsonb_to_record jsonb_to_recordset
jsonb_to_tsvector jsonb_typeof justify_days justify_hours justify_interval last lastval lcm levenshtein lgamma line
locf lower_inc lower_inf lseg macaddr macaddr8 macaddr8_set7bit make_date make_interval make_time make_timestamp
make_timestamptz makeaclitem masklen metaphone min_scale mode money multirange mxid_age netmask network normalize
npoints num_nonnulls num_nulls nummultirange numrange obj_description oid overlay parse_ident path pclose
pg_available_extension_versions pg_available_extensions pg_backend_pid pg_blocking_pids pg_buffercache_pages
pg_buffercache_summary pg_buffercache_usage_counts pg_char_to_encoding pg_client_encoding pg_collation_actual_version
pg_collation_for pg_collation_is_visible pg_column_compression pg_column_is_updatable pg_column_size
pg_column_toast_chunk_id pg_conf_load_time pg_control_checkpoint pg_control_init pg_control_recovery pg_control_system
pg_conversion_is_visible pg_current_logfile pg_current_snapshot pg_current_wal_flush_lsn pg_current_wal_insert_lsn
pg_current_wal_lsn pg_current_xact_id_if_assigned pg_cursor pg_database_collation_actual_version pg_database_size
pg_describe_object pg_encoding_max_length pg_encoding_to_char pg_filenode_relation pg_freespace pg_function_is_visible
pg_has_role pg_identify_object pg_identify_object_as_address pg_index_column_has_property pg_index_has_property
pg_indexam_has_property pg_indexam_progress_phasename pg_indexes_size pg_input_error_info pg_input_is_valid
pg_is_in_recovery pg_is_other_temp_schema pg_is_wal_replay_paused pg_jit_available pg_last_committed_xact
pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp pg_listening_channels pg_lock_status
pg_ls_archive_statusdir pg_ls_logdir pg_ls_tmpdir pg_ls_waldir pg_lsn pg_my_temp_schema pg_notification_queue_usage
pg_opclass_is_visible pg_operator_is_visible pg_opfamily_is_visible pg_options_to_table pg_partition_ancestors
pg_partition_root pg_partition_tree pg_postmaster_start_time pg_prepared_statement pg_prepared_xact
pg_relation_filenode pg_relation_filepath pg_relation_is_publishable pg_relation_is_updatable pg_relation_size
pg_safe_snapshot_blocking_pids pg_sequence_last_value pg_sequence_parameters pg_settings_get_flags
pg_show_all_settings pg_show_replication_origin_status pg_size_bytes pg_size_pretty pg_snapshot_xip pg_snapshot_xmax
pg_snapshot_xmin pg_stat_have_stats pg_stat_statements pg_stat_statements_info pg_statistics_obj_is_visible
pg_table_is_visible pg_table_size pg_tablespace_databases pg_tablespace_location pg_tablespace_size
pg_timezone_abbrevs pg_timezone_names pg_total_relation_size pg_trigger_depth pg_ts_config_is_visible
pg_ts_dict_is_visible pg_ts_parser_is_visible pg_ts_template_is_visible pg_type_is_visible pg_typeof
pg_visible_in_snapshot pg_wal_lsn_diff pg_walfile_name pg_walfile_name_offset pg_xact_commit_timestamp pg_xact_status
pgstatindex pgstattuple pgstattuple_approx phraseto_tsquery plainto_tsquery point polygon popen precision querytree
quote_ident quote_literal quote_nullable radius random random_normal range_agg range_intersect_agg range_merge
regclass regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array
regexp_split_to_table regexp_substr regnamespace regproc regr_avgx regr_avgy regr_count regr_intercept regr_r2
regr_slope regr_sxx regr_sxy regr_syy regrole regtype repeatable row_security_active row_to_json scale set_bit
set_byte set_masklen setweight sha224 sha256 sha384 sha512 shobj_description show_trgm similarity sind sinh skeys
slope soundex split_part starts_with statement_timestamp strict_word_similarity string_agg string_to_array
string_to_table strip strpos svals system system_user tand tanh time_bucket time_bucket_gapfill timeofday timestamptz
timetz timezone to_ascii to_bin to_char to_date to_hex to_json to_jsonb to_number to_oct to_regclass to_regcollation
to_regnamespace to_regoper to_regoperator to_regproc to_regprocedure to_regrole to_regtype to_timestamp to_tsquery
to_tsvector transaction_timestamp translate trim_array trim_scale try_cast ts_debug ts_delete ts_filter ts_headline
ts_lexize ts_parse ts_rank ts_rank_cd ts_token_type tsmultirange tsquery_phrase tsrange tstzmultirange tstzrange
tsvector_to_array txid_current_if_assigned txid_current_snapshot txid_snapshot_xip txid_snapshot_xmax
txid_snapshot_xmin txid_status txid_visible_in_snapshot unaccent unicode_version unistr unnest upper_inc upper_inf
uuid uuid_extract_timestamp uuid_extract_version uuid_generate_v4 uuidv4 uuidv7 varbit websearch_to_tsquery width
width_bucket word_similarity xid xml xml_is_well_formed xml_is_well_formed_content xml_is_well_formed_document xmlagg
xmlattributes xmlcomment xmlconcat xmlelement xmlexists xmlforest xmlparse xmlpi xmlserialize xmltable xmltext xpath
xpath_exists
"""

_MYSQL = """
add_months adddate addtime aes_decrypt aes_encrypt against any_value ascii bin bin_to_uuid bit_count chr coercibility
collation column_check column_exists column_get column_json column_list compress connection_id conv convert convert_tz
crc32 crc32c curdate current_role curtime database date_add date_format date_sub datediff datetime day dayname
dayofmonth dayofweek dayofyear decode_histogram elt encode export_set extractvalue field find_in_set format_bytes
format_path format_pico_time format_statement format_time found_rows from_base64 from_days from_unixtime geometrytype
group_concat grouping gtid_subset gtid_subtract hour icu_version inet4_aton inet4_ntoa inet6_aton inet6_ntoa inet_aton
inet_ntoa insert is_free_lock is_ipv4 is_ipv4_compat is_ipv4_mapped is_ipv6 is_used_lock is_uuid json_array_append
json_array_insert json_arrayagg json_compact json_contains json_contains_path json_depth json_detailed json_equals
json_exists json_keys json_length json_loose json_merge json_merge_patch json_merge_preserve json_normalize
json_objectagg json_overlaps json_pretty json_query json_schema_valid json_schema_validation_report json_search
json_storage_free json_storage_size json_table json_unquote json_value last_day lastval lcase lengthb locate make_set
makedate maketime match median microsecond mid minute month monthname name_const natural_sort_key nvl nvl2 oct ord
period_add period_diff ps_current_thread_id ps_is_account_enabled ps_is_consumer_enabled
ps_is_instrument_default_enabled ps_is_instrument_default_timed ps_is_thread_instrumented ps_thread_account
ps_thread_id quarter quote_identifier rand random_bytes regexp_instr regexp_like regexp_replace regexp_substr
roles_graphml row_count schema schemas sec_to_time second sformat sha sha1 sha2 signed soundex space statement_digest
statement_digest_text std str_to_date strcmp subdate substring_index subtime sys_get_config sys_guid sysdate
system_user time_format time_to_sec timediff timestampadd timestampdiff to_base64 to_char to_days to_seconds ucase
uncompress uncompressed_length unhex unix_timestamp unsigned updatexml utc_date utc_time utc_timestamp uuid uuid_short
uuid_to_bin validate_password_strength values version_major version_minor version_patch week weekday weekofyear
weight_string wsrep_last_seen_gtid wsrep_last_written_gtid xor year yearweek
"""

_SQLITE = """
acosh asinh atanh bm25 changes cosh datetime dbstat generate_series glob group_concat highlight json json_each
json_error_position json_group_array json_group_object json_patch json_pretty json_tree jsonb jsonb_array jsonb_each
jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert jsonb_object jsonb_patch jsonb_remove jsonb_replace
jsonb_set jsonb_tree julianday last_insert_rowid like likelihood likely median percentile printf random rtreecheck
rtreedepth rtreenode sinh snippet soundex sqlite_compileoption_get sqlite_compileoption_used sqlite_offset
sqlite_source_id sqlite_version strftime string_agg subtype tanh timediff total total_changes typeof unhex unicode
unistr unistr_quote unixepoch unlikely
"""

# Families whose members all read; st_ is spatial.
_FAMILIES = {
    "postgres": r"pg_get_\w+|pg_stat_get_\w+|has_\w+_privilege|st_\w+",
    "mysql": r"st_\w+|mbr\w+|regexp_\w+",
    "sqlite": r"pragma_(table_x?info|table_list|index_list|index_x?info|foreign_key_(list|check)|database_list"
    r"|collation_list|function_list|module_list|pragma_list|compile_options|page_count|freelist_count"
    r"|integrity_check|quick_check)",
}
_NAMES = {"postgres": _POSTGRES, "mysql": _MYSQL, "sqlite": _SQLITE}
# Schemas that have nothing but the server's own functions.
_OWN_SCHEMAS: Mapping[str, frozenset[str]] = {
    "postgres": frozenset(["pg_catalog", "information_schema"]),
    "mysql": frozenset(["sys"]),
    "sqlite": frozenset(),
}
# Words that may stand before a parenthesis without calling anything.
_WORDS = frozenset(
    """
    select with values table and or not xor in exists any some all is null like ilike similar to regexp rlike glob match
    escape between case when then else end as on using where from by having group order limit offset fetch first next
    join lateral natural cross left right full inner outer union except intersect minus distinct over filter within
    partition range rows groups sets rollup cube array row of div mod interval binary collate return returning passing
    columns nested path index key force ignore use only zone operator recursive materialized window separator exclude
    """.split()
)


class Functions:
    """What may be called in a dialect (``postgres``, ``mysql``, ``sqlite``)."""

    def __init__(self, dialect: str) -> None:
        self._names = frozenset(_COMMON.split()) | frozenset(_NAMES[dialect].split())
        self._family = re.compile(_FAMILIES[dialect])
        self._schemas = _OWN_SCHEMAS[dialect]

    def reads(self, name: str, schema: str = "") -> bool:
        """Whether the function is known to only read; names in lower case."""
        if schema and schema not in self._schemas:
            return False
        return name in self._names or bool(self._family.fullmatch(name))


def is_plain_word(word: str) -> bool:
    """Whether a word before a parenthesis is grammar; in lower case."""
    return word in _WORDS
