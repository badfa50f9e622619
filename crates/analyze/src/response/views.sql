-- What is derived of requests: response time and its parts, depth, seeks. These are views and never columns, so that
-- they cannot disagree with the records. docs/records.md says what each column of the records is.
--
-- They ask for a table or view `requests`: the columns of requests.parquet, and one more, `run`, which tells traces
-- apart (the file's name will do). Times are ns since each run's start: runs share no clock, and nothing here goes
-- across them. `lbolt sql --requests PATH` writes that view, with an `above_id` that is null for traces of before
-- version 0.2.0, which had none.
--
-- Standard SQL, as far as DuckDB and Spark SQL both have it. Where they differ from the standard: `&` is the bits that
-- two numbers have in common, STRING is text of any length, LN and POWER give doubles, GREATEST passes over nulls,
-- and views are temporary, which needs no catalog. Unsigned numbers become BIGINT first: a difference may be negative.
--
-- Windows are over what one device did in one minute. What lies before the minute is carried in from totals of a row
-- a minute, so that no engine has to sort a whole trace in one place.

-- 0 to 37: exponents and places.
CREATE OR REPLACE TEMPORARY VIEW numbers AS
SELECT CAST(tens.digit * 10 + ones.digit AS BIGINT) AS number
FROM (VALUES (0), (1), (2), (3)) AS tens (digit)
CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS ones (digit)
WHERE tens.digit * 10 + ones.digit < 38;

-- Every row but those that lbolt itself made (flag `own`, 256), in signed numbers.
-- `arrival_ns` is the first moment known of a row: rows are in its order, and equal ones in that of `request_id`.
CREATE OR REPLACE TEMPORARY VIEW traced AS
SELECT
    run,
    CAST(request_id AS BIGINT) AS request_id,
    CAST(parent_id AS BIGINT) AS parent_id,
    CAST(above_id AS BIGINT) AS above_id,
    CAST(device AS BIGINT) AS device,
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
-- so that response = wait + device = admission + scheduler + device, wherever the trace tells these. What the device
-- did is of rows that were issued, the parts of sequences one by one:
--   done_ns       issued to completed
-- A step whose time is before that of the step it follows gives no time.
-- `size_bytes` is the power of two that the length does not exceed. The quarter keeps the logarithm of a power of two
-- away from the edge. `minute` counts minutes of the run.
CREATE OR REPLACE TEMPORARY VIEW timed AS
SELECT
    admitted.*,
    response_ns - device_ns AS wait_ns,
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
            CASE WHEN sequence_ns IS NOT NULL THEN sequence_ns WHEN done_ns <= response_ns THEN done_ns END AS device_ns
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

-- A step for each arrival of what was requested, and for each completion. A request that was never completed comes and finds
-- others, but is not counted itself: it would be outstanding for ever; nor is one that was completed at once. A completion
-- at the same ns as an arrival is before it.
CREATE OR REPLACE TEMPORARY VIEW steps AS
SELECT
    run, device, minute, arrival_ns AS at_ns, 1 AS is_arrival, request_id,
    CASE WHEN completed_ns IS NOT NULL THEN 1 ELSE 0 END AS is_completed,
    CASE WHEN completed_ns > arrival_ns THEN 1 ELSE 0 END AS step,
    CASE WHEN completed_ns > arrival_ns AND op = 'write' THEN 1 ELSE 0 END AS write_step,
    CASE WHEN completed_ns > arrival_ns AND op = 'write' AND (flags & 32) <> 0 THEN 1 ELSE 0 END AS background_write_step,
    CASE WHEN completed_ns > arrival_ns AND op = 'flush' THEN 1 ELSE 0 END AS flush_step
FROM requested
WHERE arrival_ns IS NOT NULL
UNION ALL
SELECT
    run, device, CAST((completed_ns - completed_ns % 60000000000) / 60000000000 AS BIGINT), completed_ns, 0, request_id,
    1, -1,
    CASE WHEN op = 'write' THEN -1 ELSE 0 END,
    CASE WHEN op = 'write' AND (flags & 32) <> 0 THEN -1 ELSE 0 END,
    CASE WHEN op = 'flush' THEN -1 ELSE 0 END
FROM requested
WHERE completed_ns > arrival_ns;

-- What each minute of a device begins with, and when the next step after it comes. A row a minute: the window is over
-- all minutes of a device.
CREATE OR REPLACE TEMPORARY VIEW minutes AS
SELECT
    run, device, minute,
    (SUM(step) OVER earlier) - step AS carried,
    (SUM(write_step) OVER earlier) - write_step AS carried_writes,
    (SUM(background_write_step) OVER earlier) - background_write_step AS carried_background_writes,
    (SUM(flush_step) OVER earlier) - flush_step AS carried_flushes,
    LEAD(first_ns) OVER (PARTITION BY run, device ORDER BY minute) AS next_minute_ns
FROM (
    SELECT
        run, device, minute, MIN(at_ns) AS first_ns, SUM(step) AS step, SUM(write_step) AS write_step,
        SUM(background_write_step) AS background_write_step, SUM(flush_step) AS flush_step
    FROM steps
    GROUP BY run, device, minute
) AS totals
WINDOW earlier AS (PARTITION BY run, device ORDER BY minute ROWS UNBOUNDED PRECEDING);

-- The depth of each device: how many requests are outstanding after each step, until the next.
CREATE OR REPLACE TEMPORARY VIEW depths AS
SELECT
    steps.run, steps.device, steps.at_ns, steps.is_arrival, steps.request_id, steps.is_completed,
    steps.step, steps.write_step, steps.background_write_step, steps.flush_step,
    minutes.carried + SUM(steps.step) OVER so_far AS depth,
    minutes.carried_writes + SUM(steps.write_step) OVER so_far AS depth_writes,
    minutes.carried_background_writes + SUM(steps.background_write_step) OVER so_far AS depth_background_writes,
    minutes.carried_flushes + SUM(steps.flush_step) OVER so_far AS depth_flushes,
    COALESCE(
        LEAD(steps.at_ns) OVER (
            PARTITION BY steps.run, steps.device, steps.minute ORDER BY steps.at_ns, steps.is_arrival, steps.request_id),
        minutes.next_minute_ns) - steps.at_ns AS lasts_ns
FROM steps
JOIN minutes
    ON minutes.run = steps.run AND minutes.device = steps.device AND minutes.minute = steps.minute
WINDOW so_far AS (
    PARTITION BY steps.run, steps.device, steps.minute ORDER BY steps.at_ns, steps.is_arrival, steps.request_id
    ROWS UNBOUNDED PRECEDING);

-- What was requested, with what it found outstanding on its device as it arrived.
CREATE OR REPLACE TEMPORARY VIEW arrivals AS
SELECT
    requested.*,
    CAST(depths.depth - depths.step AS BIGINT) AS found,
    CAST(depths.depth_writes - depths.write_step AS BIGINT) AS found_writes,
    CAST(depths.depth_background_writes - depths.background_write_step AS BIGINT) AS found_background_writes,
    CAST(depths.depth_flushes - depths.flush_step AS BIGINT) AS found_flushes
FROM requested
JOIN depths
    ON depths.run = requested.run AND depths.device = requested.device AND depths.request_id = requested.request_id
WHERE depths.is_arrival = 1;

-- The time since the arrival before on the same device; null of the first.
CREATE OR REPLACE TEMPORARY VIEW gaps AS
SELECT
    requested.run, requested.device, requested.request_id, requested.arrival_ns,
    requested.arrival_ns - COALESCE(
        LAG(requested.arrival_ns) OVER (
            PARTITION BY requested.run, requested.device, requested.minute ORDER BY requested.arrival_ns, requested.request_id),
        before.last_ns) AS gap_ns
FROM requested
JOIN (
    SELECT run, device, minute, LAG(MAX(arrival_ns)) OVER (PARTITION BY run, device ORDER BY minute) AS last_ns
    FROM requested
    WHERE arrival_ns IS NOT NULL
    GROUP BY run, device, minute
) AS before
    ON before.run = requested.run AND before.device = requested.device AND before.minute = requested.minute;

-- The way from the end of the request before to the begin of this one, in order of arrival on a device, of what has a
-- place there. 0 is sequential; null of the first.
CREATE OR REPLACE TEMPORARY VIEW seeks AS
SELECT
    placed.run, placed.device, placed.request_id, placed.arrival_ns,
    ABS(placed.offset_bytes - COALESCE(placed.end_before, before.last_end)) AS seek_bytes
FROM (
    SELECT
        run, device, minute, request_id, arrival_ns, offset_bytes,
        LAG(offset_bytes + length_bytes) OVER (
            PARTITION BY run, device, minute ORDER BY arrival_ns, request_id) AS end_before
    FROM requested
    WHERE arrival_ns IS NOT NULL AND offset_bytes IS NOT NULL
) AS placed
JOIN (
    SELECT run, device, minute, LAG(end_bytes) OVER (PARTITION BY run, device ORDER BY minute) AS last_end
    FROM (
        SELECT
            run, device, minute, offset_bytes + length_bytes AS end_bytes,
            ROW_NUMBER() OVER (
                PARTITION BY run, device, minute ORDER BY arrival_ns DESC, request_id DESC) AS place
        FROM requested
        WHERE arrival_ns IS NOT NULL AND offset_bytes IS NOT NULL
    ) AS ranked
    WHERE place = 1
) AS before
    ON before.run = placed.run AND before.device = placed.device AND before.minute = placed.minute;
