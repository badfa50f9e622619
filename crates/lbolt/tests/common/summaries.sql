-- What the response analysis counts, once more: the classes of its tables, depth, gaps and seeks, by an engine that
-- shares nothing with it. It stands on the views of `lbolt sql`. Storms, and the areas that a trace's footer tells, are
-- not here.
--
-- Windows are over what one device did in one minute. What lies before the minute is carried in from totals of a row
-- a minute.

-- 0 to 37: exponents and places.
CREATE OR REPLACE TEMPORARY VIEW numbers AS
SELECT CAST(tens.digit * 10 + ones.digit AS BIGINT) AS number
FROM (VALUES (0), (1), (2), (3)) AS tens (digit)
CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS ones (digit)
WHERE tens.digit * 10 + ones.digit < 38;

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

-- How wide the slices of a device's places and of a run's time are: 32 of 1 MiB, or of 1.953125 ms, doubled until the
-- last place, or time, is in one of them.
CREATE OR REPLACE TEMPORARY VIEW region_widths AS
SELECT ends.run, ends.device, MIN(CAST(1048576 * POWER(2, number) AS BIGINT)) AS width_bytes
FROM (
    SELECT run, device, MAX(offset_bytes) AS last_bytes
    FROM timed
    WHERE offset_bytes IS NOT NULL
    GROUP BY run, device
) AS ends
CROSS JOIN numbers
WHERE CAST(1048576 * 32 * POWER(2, number) AS BIGINT) > ends.last_bytes
GROUP BY ends.run, ends.device;

CREATE OR REPLACE TEMPORARY VIEW start_widths AS
SELECT ends.run, MIN(CAST(1953125 * POWER(2, number) AS BIGINT)) AS width_ns
FROM (
    SELECT run, MAX(arrival_ns) AS last_ns
    FROM timed
    WHERE arrival_ns IS NOT NULL
    GROUP BY run
) AS ends
CROSS JOIN numbers
WHERE CAST(CAST(1953125 AS BIGINT) * 32 * POWER(2, number) AS BIGINT) > ends.last_ns
GROUP BY ends.run;

-- How many cgroups requested anything: a process is known with its own where there are several.
CREATE OR REPLACE TEMPORARY VIEW cgroup_counts AS
SELECT run, COUNT(DISTINCT cgroup) AS cgroup_count
FROM timed
GROUP BY run;

-- Every row once for each class that it is in. Sizes end with the class's number of bytes; regions and starts begin
-- with the class's number of bytes or ns. `device` is null where a class is of all devices of a run.
CREATE OR REPLACE TEMPORARY VIEW classed AS
SELECT
    timed.run, dimensions.classed_by,
    CASE WHEN dimensions.classed_by IN ('device', 'device and direction', 'region') THEN timed.device END AS device,
    CASE dimensions.classed_by
        WHEN 'whole' THEN 'all'
        WHEN 'direction' THEN timed.op
        WHEN 'device' THEN CAST(timed.device AS STRING)
        WHEN 'device and direction' THEN timed.op
        WHEN 'origin' THEN timed.origin
        WHEN 'size' THEN CAST(timed.size_bytes AS STRING)
        WHEN 'process' THEN CONCAT(
            CASE
                WHEN timed.command IS NOT NULL AND timed.pid IS NOT NULL
                    THEN CONCAT(timed.command, ' (', CAST(timed.pid AS STRING), ')')
                WHEN timed.command IS NOT NULL THEN timed.command
                WHEN timed.pid IS NOT NULL THEN CONCAT('pid ', CAST(timed.pid AS STRING))
                ELSE 'others' END,
            CASE
                WHEN timed.cgroup IS NOT NULL AND cgroup_counts.cgroup_count > 1
                    THEN CONCAT(' in ', CAST(timed.cgroup AS STRING))
                ELSE '' END)
        WHEN 'cgroup' THEN CAST(timed.cgroup AS STRING)
        WHEN 'region' THEN CAST(timed.offset_bytes - timed.offset_bytes % region_widths.width_bytes AS STRING)
        WHEN 'start' THEN CAST(GREATEST(timed.arrival_ns, 0) - GREATEST(timed.arrival_ns, 0) % start_widths.width_ns
            AS STRING)
    END AS class,
    timed.is_requested, timed.completed_ns, timed.op, timed.length_bytes, timed.error,
    timed.response_ns, timed.took_ns, timed.wait_ns, timed.admission_ns, timed.scheduler_ns, timed.device_ns,
    timed.done_ns
FROM timed
CROSS JOIN (
    VALUES
        ('whole'), ('direction'), ('device'), ('device and direction'), ('origin'), ('size'), ('process'), ('cgroup'),
        ('region'), ('start')
) AS dimensions (classed_by)
LEFT JOIN region_widths ON region_widths.run = timed.run AND region_widths.device = timed.device
LEFT JOIN start_widths ON start_widths.run = timed.run
LEFT JOIN cgroup_counts ON cgroup_counts.run = timed.run
WHERE NOT (dimensions.classed_by = 'cgroup' AND timed.cgroup IS NULL)
    AND NOT (dimensions.classed_by = 'region' AND timed.offset_bytes IS NULL)
    AND NOT (dimensions.classed_by = 'start' AND timed.arrival_ns IS NULL)
    -- Where devices lie on others, a request counts once of all devices together: at the top.
    AND (timed.above_id IS NULL OR dimensions.classed_by IN ('device', 'device and direction', 'region'))
UNION ALL
-- The reads, by how many writes they found outstanding on their device.
SELECT
    run, classed_by, CAST(NULL AS BIGINT),
    CASE WHEN writes = 0 THEN '0' WHEN writes < 5 THEN '1 to 4' WHEN writes < 20 THEN '5 to 19' ELSE '20 and more' END,
    is_requested, completed_ns, op, length_bytes, error,
    response_ns, took_ns, wait_ns, admission_ns, scheduler_ns, device_ns, done_ns
FROM (
    SELECT
        arrivals.*, kinds.classed_by,
        CASE kinds.classed_by WHEN 'writes outstanding' THEN found_writes ELSE found_background_writes END AS writes
    FROM arrivals
    CROSS JOIN (VALUES ('writes outstanding'), ('background writes outstanding')) AS kinds (classed_by)
    WHERE op = 'read' AND above_id IS NULL
) AS reads;

-- How many, how much, how long. The mean of a response and of each of its parts is its sum over response_count: so the
-- means add up, response = admission + scheduler + device + rest (queue instead of the first two where the trace does not
-- tell them). The rest is of steps that the trace does not tell. The device's part of responses is served_sum_ns;
-- device_sum_ns is of all requests that tell their device time, and its mean that over device_count. took_sum_ns is of
-- responses, else of device times. What the device did is done_sum_ns over done_count.
CREATE OR REPLACE TEMPORARY VIEW summaries AS
SELECT
    run, classed_by, device, class,
    SUM(is_requested) AS requested_count,
    SUM(CASE WHEN is_requested = 1 AND completed_ns IS NOT NULL THEN 1 ELSE 0 END) AS completed_count,
    SUM(CASE WHEN is_requested = 1 AND op <> 'discard' THEN length_bytes ELSE 0 END) AS requested_bytes,
    SUM(CASE WHEN is_requested = 1 AND op = 'discard' THEN length_bytes ELSE 0 END) AS discarded_bytes,
    SUM(CASE WHEN is_requested = 1 AND error <> 0 THEN 1 ELSE 0 END) AS failed_count,
    COUNT(response_ns) AS response_count,
    SUM(response_ns) AS response_sum_ns,
    MIN(response_ns) AS response_min_ns,
    MAX(response_ns) AS response_max_ns,
    SUM(took_ns) AS took_sum_ns,
    COUNT(wait_ns) AS wait_count,
    SUM(wait_ns) AS wait_sum_ns,
    COUNT(admission_ns) AS admission_count,
    SUM(admission_ns) AS admission_sum_ns,
    COUNT(scheduler_ns) AS scheduler_count,
    SUM(scheduler_ns) AS scheduler_sum_ns,
    COUNT(device_ns) AS device_count,
    SUM(device_ns) AS device_sum_ns,
    COUNT(CASE WHEN response_ns IS NOT NULL THEN device_ns END) AS served_count,
    SUM(CASE WHEN response_ns IS NOT NULL THEN device_ns END) AS served_sum_ns,
    CASE WHEN COUNT(wait_ns) + COUNT(admission_ns) > 0 THEN
        SUM(response_ns) - COALESCE(SUM(CASE WHEN response_ns IS NOT NULL THEN device_ns END), 0)
            - CASE WHEN COUNT(admission_ns) + COUNT(scheduler_ns) > 0
                THEN COALESCE(SUM(admission_ns), 0) + COALESCE(SUM(scheduler_ns), 0)
                ELSE COALESCE(SUM(wait_ns), 0) END
        END AS rest_sum_ns,
    COUNT(done_ns) AS done_count,
    SUM(done_ns) AS done_sum_ns,
    MAX(done_ns) AS done_max_ns
FROM classed
GROUP BY run, classed_by, device, class;

-- Responses and seeks by buckets, 128 an octave: bucket b covers the values from (b - 128 s) 2^s up to but not including
-- the next bucket's, where s = max(0, floor(b/128) - 1) (docs/records.md). So s is the value's octave less 7. A
-- logarithm that is off by one at a power of two does no harm: the bucket comes out the same.
CREATE OR REPLACE TEMPORARY VIEW histograms AS
SELECT
    run, classed_by, device, class,
    CAST(128 * s + (value - value % CAST(POWER(2, s) AS BIGINT)) / POWER(2, s) AS BIGINT) AS bucket,
    COUNT(*) AS bucket_count
FROM (
    SELECT
        run, classed_by, device, class, value,
        CASE WHEN value < 128 THEN CAST(0 AS BIGINT) ELSE CAST(FLOOR(LN(value) / LN(2)) AS BIGINT) - 7 END AS s
    FROM (
        SELECT run, classed_by, device, class, response_ns AS value FROM classed WHERE response_ns IS NOT NULL
        UNION ALL
        SELECT run, 'seek', device, CAST(device AS STRING), seek_bytes FROM seeks WHERE seek_bytes IS NOT NULL
    ) AS counted
) AS scaled
GROUP BY
    run, classed_by, device, class,
    CAST(128 * s + (value - value % CAST(POWER(2, s) AS BIGINT)) / POWER(2, s) AS BIGINT);

-- Each run's span: from the first arrival to the last arrival or completion.
CREATE OR REPLACE TEMPORARY VIEW spans AS
SELECT run, MIN(arrival_ns) AS first_ns, MAX(GREATEST(arrival_ns, COALESCE(completed_ns, arrival_ns))) AS last_ns
FROM timed
WHERE arrival_ns IS NOT NULL
GROUP BY run;

-- Each device's depth and use: what arrivals found, the most at once with the one that arrives, the depth summed over
-- time, and the time in which it was not 0. Mean depth is depth_time_ns over the run's span.
CREATE OR REPLACE TEMPORARY VIEW depth_summaries AS
SELECT
    run, device,
    SUM(is_arrival) AS arrivals_count,
    SUM(CASE WHEN is_arrival = 1 THEN depth - step ELSE 0 END) AS found_sum,
    MAX(CASE WHEN is_arrival = 1 THEN depth - step + is_completed ELSE 0 END) AS depth_max,
    SUM(depth * lasts_ns) AS depth_time_ns,
    SUM(CASE WHEN depth > 0 THEN lasts_ns ELSE 0 END) AS busy_ns
FROM depths
GROUP BY run, device;

-- Each device's flow: gaps between arrivals, and seeks. The standard deviation of gaps follows from sum and squares.
CREATE OR REPLACE TEMPORARY VIEW flow_summaries AS
SELECT
    run, device,
    SUM(is_gap) AS gaps_count,
    SUM(gap_ns) AS gap_sum_ns,
    SUM(CAST(gap_ns AS DOUBLE) * CAST(gap_ns AS DOUBLE)) AS gap_squares,
    SUM(is_seek) AS seeks_count,
    SUM(CASE WHEN seek_bytes = 0 THEN 1 ELSE 0 END) AS sequential_count,
    SUM(seek_bytes) AS seek_sum_bytes,
    MIN(seek_bytes) AS seek_min_bytes,
    MAX(seek_bytes) AS seek_max_bytes
FROM (
    SELECT run, device, 1 AS is_gap, 0 AS is_seek, gap_ns, CAST(NULL AS BIGINT) AS seek_bytes
    FROM gaps
    WHERE gap_ns IS NOT NULL
    UNION ALL
    SELECT run, device, 0, 1, NULL, seek_bytes
    FROM seeks
    WHERE seek_bytes IS NOT NULL
) AS steps_of_both
GROUP BY run, device;
