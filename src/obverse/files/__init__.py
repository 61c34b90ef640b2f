"""Records to and from files: JSON Lines (plain, .gz, .zst) for people, Parquet for scale.

Reading recognises compression by the first bytes, not by the suffix. Writing is whole or not at all: a file under
its final name is complete.
"""

from __future__ import annotations

from obverse.files.folders import digest, digests_of, in_folder, made_file, read_corpus
from obverse.files.json_text import (
    parse_json,
    read_json,
    read_json_lines,
    to_json,
    write_json,
    write_json_lines,
)
from obverse.files.lines import (
    BOM,
    LineFacts,
    is_wide,
    line_blocks,
    read_line_blocks,
    read_lines,
)
from obverse.files.locking import hold
from obverse.files.opening import open_bytes, standard_input
from obverse.files.repeated_keys import key_count, may_repeat_keys, repeated_keys
from obverse.files.topic_tables import (
    CHARACTERS_AT_ONCE,
    TOPICS_AT_ONCE,
    parquet,
    topic_table,
    topic_tables,
    unicode_alone,
    write_tables,
)
from obverse.files.topics import read_topics, topic_rows, write_topics
from obverse.files.whole import whole_file

__all__ = [
    "BOM",
    "CHARACTERS_AT_ONCE",
    "TOPICS_AT_ONCE",
    "LineFacts",
    "digest",
    "digests_of",
    "hold",
    "in_folder",
    "is_wide",
    "key_count",
    "line_blocks",
    "made_file",
    "may_repeat_keys",
    "open_bytes",
    "parquet",
    "parse_json",
    "read_corpus",
    "read_json",
    "read_json_lines",
    "read_line_blocks",
    "read_lines",
    "read_topics",
    "repeated_keys",
    "standard_input",
    "to_json",
    "topic_rows",
    "topic_table",
    "topic_tables",
    "unicode_alone",
    "whole_file",
    "write_json",
    "write_json_lines",
    "write_tables",
    "write_topics",
]
