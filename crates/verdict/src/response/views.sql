-- What is derived of requests: response time and its parts, origin, size. These are views and never columns, so that
-- they cannot disagree with the records. docs/records.md says what each column of the records is.
--
-- They ask for a table or view `requests`: the columns of requests.parquet, and one more, `run`, which tells traces
-- apart (the file's name will do); and for `devices`: run, device and device_name. Times are ns since each run's start:
-- runs share no clock, and nothing here goes across them. `lbolt sql --requests PATH` writes both, with an `above_id`
-- that is null for traces of before version 0.2.0, which had none.
--
-- Standard SQL, as far as DuckDB and Spark SQL both have it. Where they differ from the standard: `&` is the bits that
-- two numbers have in common, STRING is text of any length, LN and POWER give doubles, GREATEST passes over nulls, and
-- views are temporary, which needs no catalog. Unsigned numbers become BIGINT first: a difference may be negative.

-- Every row but those that lbolt itself made (flag `own`, 256), in signed numbers.
-- `arrival_ns` is the first moment known of a row: rows are in its order, and equal ones in that of `request_id`.
CREATE OR REPLACE TEMPORARY VIEW traced AS
SELECT
    requests.run,
    CAST(request_id AS BIGINT) AS request_id,
    CAST(parent_id AS BIGINT) AS parent_id,
    CAST(above_id AS BIGINT) AS above_id,
    CAST(requests.device AS BIGINT) AS device,
    devices.device_name,
    CAST(op AS STRING) AS op,
    CAST(flags AS BIGINT) AS flags,
    CAST(offset_bytes AS BIGINT) AS offset_bytes,
    CAST(length_bytes AS BIGINT) AS length_bytes,
    queued_ns,
    started_ns,
    issued_ns,
    completed_ns,
    COALESCE(queued_ns, started_ns, issued_ns, completed_ns) AS arrival_ns,
    error,
    CAST(pid AS BIGINT) AS pid,
    CAST(cgroup AS BIGINT) AS cgroup,
    CAST(command AS STRING) AS command
FROM requests
LEFT JOIN devices ON devices.run = requests.run AND devices.device = requests.device
WHERE (CAST(flags AS BIGINT) & 256) = 0;

-- How long each flush sequence was with the device. A sequence is one write or flush that was requested and never issued
-- itself, and parts that the device did: rows with its number as `parent_id`. Each moment counts once, from the
-- sequence's start to its end.
CREATE OR REPLACE TEMPORARY VIEW sequences AS
SELECT run, request_id, SUM(GREATEST(to_ns - GREATEST(from_ns, start_ns, counted_ns), 0)) AS sequence_ns
FROM (
    SELECT
        requested.run, requested.request_id,
        part.issued_ns AS from_ns,
        LEAST(part.completed_ns, requested.completed_ns) AS to_ns,
        GREATEST(COALESCE(requested.queued_ns, requested.started_ns), requested.started_ns) AS start_ns,
        MAX(LEAST(part.completed_ns, requested.completed_ns)) OVER (
            PARTITION BY part.run, part.parent_id ORDER BY part.arrival_ns, part.request_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS counted_ns
    FROM traced AS part
    JOIN traced AS requested ON requested.run = part.run AND requested.request_id = part.parent_id
    WHERE part.completed_ns >= part.issued_ns AND part.issued_ns < requested.completed_ns
        AND requested.parent_id IS NULL AND requested.issued_ns IS NULL
        AND requested.completed_ns >= COALESCE(requested.queued_ns, requested.started_ns)
        -- Flags fua (8) and preflush (512).
        AND (requested.op = 'flush' OR (requested.op <> 'read' AND (requested.flags & 520) <> 0))
) AS parts
GROUP BY run, request_id;

-- The same with what each row's times come to. A response and its parts are of rows without a parent:
--   response_ns   queued (else started) to completed
--   device_ns     issued to completed; of a flush sequence that of its parts
--   wait_ns       the response less the device
--   admission_ns  queued to started
--   scheduler_ns  the wait less the admission
-- so that response = wait + device = admission + scheduler + device, wherever the trace tells these. Where it does not
-- tell when a request was queued, response_ns is null and device_ns is all that is known of its time:
--   took_ns       the response, else the device time
-- What the device
-- did is of rows that were issued, the parts of sequences one by one:
--   done_ns       issued to completed
-- A step whose time is before that of the step it follows gives no time.
-- `size_bytes` is the power of two that the length does not exceed. The quarter keeps the logarithm of a power of two
-- away from the edge. `minute` counts minutes of the run.
CREATE OR REPLACE TEMPORARY VIEW timed AS
SELECT
    admitted.*,
    response_ns - device_ns AS wait_ns,
    COALESCE(response_ns, device_ns) AS took_ns,
    CASE WHEN started_ns IS NOT NULL AND (admission_ns IS NOT NULL OR queued_ns IS NULL)
        THEN response_ns - device_ns - COALESCE(admission_ns, 0) END AS scheduler_ns
FROM (
    SELECT
        served.*,
        CASE WHEN started_ns >= queued_ns AND started_ns - queued_ns <= response_ns - COALESCE(device_ns, 0)
            THEN started_ns - queued_ns END AS admission_ns
    FROM (
        SELECT
            completed.*,
            CASE WHEN sequence_ns IS NOT NULL THEN sequence_ns
                WHEN done_ns <= response_ns OR (response_ns IS NULL AND parent_id IS NULL) THEN done_ns END AS device_ns
        FROM (
            SELECT
                traced.*,
                sequences.sequence_ns,
                CASE WHEN parent_id IS NULL THEN 1 ELSE 0 END AS is_requested,
                CASE WHEN parent_id IS NULL AND completed_ns >= COALESCE(queued_ns, started_ns)
                    THEN completed_ns - COALESCE(queued_ns, started_ns) END AS response_ns,
                CASE WHEN completed_ns >= issued_ns THEN completed_ns - issued_ns END AS done_ns,
                CASE
                    WHEN (flags & 16) <> 0 THEN 'swap'
                    WHEN (flags & 2) <> 0 THEN 'metadata'
                    WHEN (flags & 4) <> 0 THEN 'via read-ahead'
                    WHEN (flags & 32) <> 0 THEN 'writeback'
                    WHEN (flags & 64) <> 0 THEN 'direct'
                    ELSE 'other'
                END AS origin,
                CASE WHEN length_bytes = 0 THEN CAST(0 AS BIGINT)
                    ELSE CAST(POWER(2, CEIL(LN(length_bytes - 0.25) / LN(2))) AS BIGINT) END AS size_bytes,
                CAST((arrival_ns - arrival_ns % 60000000000) / 60000000000 AS BIGINT) AS minute
            FROM traced
            LEFT JOIN sequences ON sequences.run = traced.run AND sequences.request_id = traced.request_id
        ) AS completed
    ) AS served
) AS admitted;

-- What was requested.
CREATE OR REPLACE TEMPORARY VIEW requested AS
SELECT * FROM timed WHERE parent_id IS NULL;

-- What the device did.
CREATE OR REPLACE TEMPORARY VIEW done AS
SELECT * FROM timed WHERE issued_ns IS NOT NULL;
