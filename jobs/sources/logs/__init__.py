"""Code shared by logs of brokers and of clients: bytes -> lines in order -> parsed lines, with
times.

files        a log file, or a range of it -> parsed lines, stack traces, counts
reader       the lines of a log in order: their sources, parts and wrapped lines
search       the lines of a log that must be parsed
entries      a line and those that belong to it -> a parsed line
chunks       a log file -> chunks of lines in the order of time
clock        local times -> UTC
json_around  JSON around log lines: an object per line, arrays, responses of log stores
file_bytes   a log file's bytes: gzip, zstd, encodings, whole lines, ranges for tasks
copies       which files are copies of one log
order        exports of log stores in the order of time
layouts      what is around a log line: prefixes of containers, JSON, colors
"""
