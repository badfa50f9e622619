-- What is derived of rollups: response times by value, and their percentiles by hour. docs/records.md says what each
-- column of a rollup is. Rows of one key are added up, whatever their time; all sums are integers.
--
-- They ask for views `rollup`, which are the rows, and `rollup_buckets`, a row for each bucket of each row's histogram:
-- its columns without `buckets` and `counts`, with `bucket` and `bucket_count`. `lbolt sql --rollups PATH` writes both.
-- Standard SQL, as far as DuckDB and Spark SQL both have it.

-- Response times: `bucket_count` of them took about `value_ns`. A bucket b covers the nanoseconds from (b - 128 s) 2^s
-- on, s = max(0, floor(b / 128) - 1), 2^s of them; the value is the middle.
CREATE OR REPLACE TEMPORARY VIEW response_times AS
WITH shifts AS (
    SELECT rollup_buckets.*, GREATEST(0, FLOOR(bucket / 128) - 1) AS shift FROM rollup_buckets
)
SELECT
    shifts.*,
    (bucket - 128 * shift) * POWER(2, shift) + CASE WHEN shift > 0 THEN POWER(2, shift - 1) ELSE 0 END AS value_ns
FROM shifts
WHERE counted IN ('requests', 'calls');

-- By host, device, operation and hour (its number since 1970): how many responses there were, and their percentiles.
CREATE OR REPLACE TEMPORARY VIEW response_hours AS
WITH sums AS (
    SELECT
        host,
        device,
        counted,
        operation,
        FLOOR(from_unix_ns / 3600000000000) AS hour,
        value_ns,
        SUM(bucket_count) AS times
    FROM response_times
    GROUP BY host, device, counted, operation, FLOOR(from_unix_ns / 3600000000000), value_ns
),
ranked AS (
    SELECT
        sums.*,
        SUM(times) OVER (PARTITION BY host, device, counted, operation, hour ORDER BY value_ns) AS until_here,
        SUM(times) OVER (PARTITION BY host, device, counted, operation, hour) AS in_all
    FROM sums
)
SELECT
    host,
    device,
    counted,
    operation,
    hour,
    MAX(in_all) AS responses,
    MIN(CASE WHEN until_here >= 0.5 * in_all THEN value_ns END) AS p50_ns,
    MIN(CASE WHEN until_here >= 0.9 * in_all THEN value_ns END) AS p90_ns,
    MIN(CASE WHEN until_here >= 0.99 * in_all THEN value_ns END) AS p99_ns,
    MIN(CASE WHEN until_here >= 0.999 * in_all THEN value_ns END) AS p999_ns
FROM ranked
GROUP BY host, device, counted, operation, hour;

-- By host, victim, what it waited for, and cause: what was lost.
CREATE OR REPLACE TEMPORARY VIEW losses AS
SELECT
    host,
    device,
    operation,
    role,
    cause,
    SUM(lost_ns) AS lost_ns,
    MIN(from_unix_ns) AS from_unix_ns,
    MAX(until_unix_ns) AS until_unix_ns
FROM rollup
WHERE counted = 'lost'
GROUP BY host, device, operation, role, cause;
