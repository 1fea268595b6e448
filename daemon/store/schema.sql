-- The whole schema of a new database, read into the program at build time. Every change needs a
-- step in migrate.cc as well, and a higher version.
--
-- Packed keys (keys.h), so that the hot tables have one b-tree each and grow at its end:
--   chunk and file   job << 32 | number
--   case             job << 39 | generation << 32 | case number
-- Times are Unix milliseconds. Verdicts are the numbers of proto/common.proto.

CREATE TABLE meta (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  boot       INTEGER NOT NULL,  -- raised and committed at every start
  created_ms INTEGER NOT NULL,
  answers_forgotten INTEGER NOT NULL DEFAULT 0  -- those up to this id count only if proven
) STRICT;
-- 2440587.5 is the Julian day of 1970-01-01.
INSERT INTO meta (id, boot, created_ms)
VALUES (1, 0, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER));

CREATE TABLE jobs (
  job                INTEGER PRIMARY KEY,
  request_id         BLOB NOT NULL UNIQUE,  -- 16 bytes drawn by the client
  name               TEXT NOT NULL,
  puzzle             TEXT NOT NULL,
  solver             TEXT NOT NULL,
  priority           INTEGER NOT NULL,
  time_limit_us      INTEGER NOT NULL,
  memory_limit_bytes INTEGER NOT NULL,
  answer_bytes_max   INTEGER NOT NULL,
  created_ms         INTEGER NOT NULL,
  chunk_count        INTEGER NOT NULL DEFAULT 0,
  case_count         INTEGER NOT NULL DEFAULT 0,
  file_count         INTEGER NOT NULL DEFAULT 0,
  digest             INTEGER NOT NULL,      -- fold of the chunks' hashes
  sealed_ms          INTEGER,               -- NULL: not sealed
  cancelled_ms       INTEGER,
  cancel_reason      TEXT,
  finished_ms        INTEGER,               -- every case has its result
  canary_ms          INTEGER,               -- since then its cases are canaries; NULL: they are not
  revised            INTEGER NOT NULL DEFAULT 0,  -- results that were taken back
  require            TEXT NOT NULL DEFAULT '',  -- labels of its workers, KEY=VALUE a line
  solver_version     TEXT NOT NULL DEFAULT '',  -- the only one; empty: any
  no_cache           INTEGER NOT NULL DEFAULT 0  -- 1: its answers are neither kept nor looked up
) STRICT;

-- Empty files have the number of the case that would have been their first.
CREATE TABLE files (
  id         INTEGER PRIMARY KEY,  -- job, file number from 1
  path       TEXT NOT NULL,
  first_case INTEGER NOT NULL,
  case_count INTEGER NOT NULL
) STRICT;

CREATE TABLE chunks (
  id         INTEGER PRIMARY KEY,  -- job, chunk number from 0
  first_case INTEGER NOT NULL,
  case_count INTEGER NOT NULL,
  hash       INTEGER NOT NULL,
  keyed      INTEGER NOT NULL DEFAULT 0  -- 1: chunk_keys has a row
) STRICT;

-- Apart from `chunks`, so that walking chunks never touches the payload.
CREATE TABLE chunk_cases (
  id      INTEGER PRIMARY KEY,  -- as chunks.id
  payload BLOB NOT NULL         -- a serialised CaseList
) STRICT;

-- By what the answers of its cases are found.
CREATE TABLE chunk_keys (
  id   INTEGER PRIMARY KEY,  -- as chunks.id
  keys BLOB NOT NULL         -- 16 bytes a case, zeros for one without
) STRICT;

-- How far a chunk is: recovery and filters read this, never the result rows. Of the newest
-- generation of each case.
CREATE TABLE progress (
  id          INTEGER PRIMARY KEY,  -- job << 39 | 1 << 32 | chunk number
  done        INTEGER NOT NULL,
  present     INTEGER NOT NULL,     -- bit v: a case has verdict v; bit 0: a case has none yet
  verdicts    BLOB NOT NULL,        -- one byte a case: its verdict, 0 while it has none
  generations BLOB                  -- one byte a case: its generation; NULL: all are 1
) STRICT;

-- A walk over chunks reads this instead of the rows, which are fifty times as long.
CREATE INDEX progress_present ON progress (id, present);

-- The sums of `progress` over a job.
CREATE TABLE totals (
  id               INTEGER PRIMARY KEY,  -- job << 7 | 1
  done             INTEGER NOT NULL,
  solved           INTEGER NOT NULL,
  accepted         INTEGER NOT NULL,
  wrong_answer     INTEGER NOT NULL,
  invalid_instance INTEGER NOT NULL,
  invalid_answer   INTEGER NOT NULL,
  time_limit       INTEGER NOT NULL,
  memory_limit     INTEGER NOT NULL,
  output_limit     INTEGER NOT NULL,
  crashed          INTEGER NOT NULL,
  internal_error   INTEGER NOT NULL,
  cached           INTEGER NOT NULL DEFAULT 0  -- of done: answers that were known
) STRICT;

-- Which solver versions gave how many of a job's results; the sum is totals.done.
CREATE TABLE job_versions (
  job            INTEGER NOT NULL,
  solver_version INTEGER NOT NULL,  -- solver_versions.id
  cases          INTEGER NOT NULL,
  PRIMARY KEY (job, solver_version)
) STRICT, WITHOUT ROWID;

-- A result that was taken back stays; the next one of its case has a generation more.
CREATE TABLE results (
  id             INTEGER PRIMARY KEY,  -- job, generation, case number from 1
  verdict        INTEGER NOT NULL,
  time_us        INTEGER NOT NULL,
  memory_bytes   INTEGER NOT NULL,
  attempt        INTEGER NOT NULL,
  worker         INTEGER NOT NULL,     -- workers.worker
  solver_version INTEGER NOT NULL,     -- solver_versions.id
  graded_ms      INTEGER NOT NULL,
  answer         BLOB,                 -- a serialised Answer; NULL: none
  message        TEXT,                 -- NULL: none
  cached         INTEGER NOT NULL DEFAULT 0  -- 1: nobody solved it, the answer was known
) STRICT;

-- One row for each attempt that ended abnormally and was charged to the case.
CREATE TABLE attempts (
  job        INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  case_no    INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  worker     INTEGER NOT NULL,
  start_id   BLOB NOT NULL,
  ended_ms   INTEGER NOT NULL,
  message    TEXT NOT NULL
) STRICT;
CREATE INDEX attempts_by_case ON attempts (job, generation, case_no);

CREATE TABLE workers (
  worker       INTEGER PRIMARY KEY,  -- one process start
  start_id     BLOB NOT NULL,
  name         TEXT NOT NULL,
  host         TEXT NOT NULL,
  pid          INTEGER NOT NULL,
  version      TEXT NOT NULL,
  connected_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE solver_versions (
  id      INTEGER PRIMARY KEY,
  version TEXT NOT NULL UNIQUE
) STRICT;

-- Results that no good canary has proven yet, as runs of cases: what a failed canary takes back. A
-- stretch is what one worker stored between two canaries of a puzzle and solver.
CREATE TABLE unproven (
  stretch    INTEGER NOT NULL,  -- ascending
  worker     INTEGER NOT NULL,  -- workers.worker
  job        INTEGER NOT NULL,
  chunk_no   INTEGER NOT NULL,
  first_case INTEGER NOT NULL,  -- in the job
  case_count INTEGER NOT NULL,
  PRIMARY KEY (stretch, job, chunk_no, first_case)
) STRICT, WITHOUT ROWID;

-- Answers that can be found again, each as the result that has it. The solver's name is in the key.
CREATE TABLE answers (
  id             INTEGER PRIMARY KEY,  -- ascending: the oldest go first
  key            BLOB NOT NULL,        -- 16 bytes
  solver_version INTEGER NOT NULL,     -- solver_versions.id
  result         INTEGER NOT NULL,     -- results.id
  -- 0: there were no canaries; -1: a good one has proven it; else the stretch that is to be proven
  proof          INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX answers_by_key ON answers (key, solver_version);
CREATE INDEX answers_by_proof ON answers (proof) WHERE proof > 0;

-- Workers that failed a canary and were not let in again.
CREATE TABLE barred (
  id             INTEGER PRIMARY KEY,
  name           TEXT NOT NULL,
  host           TEXT NOT NULL,
  version        TEXT NOT NULL,  -- of the program
  puzzle         TEXT NOT NULL,  -- of the canary, as the next two
  solver         TEXT NOT NULL,
  solver_version TEXT NOT NULL,
  barred_ms      INTEGER NOT NULL,
  reason         TEXT NOT NULL
) STRICT;
