/** The SQL statements of the relay, for the schema `elysia_microservices`. */

/**
 * Tries to become the publishing relay until the end of the transaction, for which the settings hold, too. TCP keepalive
 * tells PostgreSQL after 25 s that the relay's machine or network has vanished (with the defaults of Linux after 2 hours);
 * until then no other relay can publish. The last setting keeps PostgreSQL from ending a transaction that waits for the
 * broker.
 */
export const LEAD = `select
  pg_try_advisory_xact_lock(hashtextextended('elysia_microservices.relay', 0)) as leads,
  (select asleep from "elysia_microservices".relay) as asleep,
  set_config('tcp_keepalives_idle', '10', true),
  set_config('tcp_keepalives_interval', '5', true),
  set_config('tcp_keepalives_count', '3', true),
  set_config('idle_in_transaction_session_timeout', '0', true)`

/**
 * Moves the mark up, and notes how far it can move next time. Events at or below the mark need not be read any
 * more. An event with a low position may be committed later than events with higher positions, so the highest
 * visible position does not show whether lower ones are complete. But every transaction gets its number before it
 * takes a position. This statement takes a transaction number after it has seen the last position. So its number is
 * higher than those of all transactions with positions up to the last one. When no running transaction has a lower
 * number, all those events are visible or were rolled back. (The end of a snapshot could not be used instead:
 * running transactions can have numbers above it.)
 *
 * The transaction that runs this statement must not have a number yet. A noted number that is not below the end of
 * the snapshot comes from another database, from which this database was restored.
 */
export const MOVE_MARK = `update "elysia_microservices".mark as mark set
  position = case
    when next_transaction <= pg_snapshot_xmin(snapshot) then greatest(mark.position, least(next_position,
      (select min(position) from "elysia_microservices".outbox
        where published_at is null and failed_at is null and retry_at is null
          and position > (select position from "elysia_microservices".mark)) - 1))
    else mark.position
  end,
  next_position = last,
  next_transaction = pg_current_xact_id()
from pg_current_snapshot() as snapshot,
  (select coalesce(max(position), 0) as last from "elysia_microservices".outbox) as seen
where pg_current_xact_id_if_assigned() is null and (
  next_transaction is null or next_transaction >= pg_snapshot_xmax(snapshot)
  or (next_transaction <= pg_snapshot_xmin(snapshot) and last > mark.position)
)`

/**
 * Moves the mark down to the first waiting event, if that event is below the mark because somebody has changed the
 * tables by hand.
 */
export const CHECK_MARK = `update "elysia_microservices".mark as mark set position = first - 1
from (select min(position) as first from "elysia_microservices".outbox
  where published_at is null and failed_at is null and retry_at is null) as seen
where first <= mark.position`

/**
 * Selects the events to publish: those whose pause is over, and new events above the mark whose key does not wait
 * for an earlier event. Several events of a key pause after they were put aside and sent again: each of them waits for
 * the earlier ones with longer pauses. The events are in the order of their positions, and their number is limited by
 * the stored size of their data. The statement sees the work of other relays, because its snapshot is younger than the
 * relay's lock.
 */
export const FETCH = `with events as (
  (select position, id, pattern, key, headers, data, attempts
    from "elysia_microservices".outbox as event
    where retry_at <= (select clock_timestamp()) and (key is null or not exists (
      select from "elysia_microservices".outbox as earlier
      where earlier.key = event.key and earlier.position < event.position and earlier.retry_at > event.retry_at
    ))
    order by retry_at, position limit $1::text::integer)
  union all
  (select position, id, pattern, key, headers, data, attempts
    from "elysia_microservices".outbox as event
    where published_at is null and failed_at is null and retry_at is null and position > coalesce((select position from "elysia_microservices".mark), 0)
      and (key is null or not exists (
        select from "elysia_microservices".outbox as waiting
        where waiting.key = event.key and waiting.retry_at is not null
      ))
    order by position limit $1::text::integer)
)
select position::text, id, pattern, key, headers::text, data::text, attempts::text
from (
  -- No data has no size, which is not the size 0.
  select *, sum(size) over (order by position) - size as before
  from (select *, coalesce(pg_column_size(data), 0) as size from events) as sized
) as event
where before < $2::text::bigint order by event.position`

/**
 * Makes events due whose next attempt is further away than any pause lasts: PostgreSQL's clock was set back since their
 * last attempt. Without this statement they and their keys would wait as long as the clock was set back. All get the
 * same time, which is over, so each still waits for an earlier event of its key that pauses. $1 is the longest pause in
 * milliseconds.
 */
export const CHECK_PAUSES = `update "elysia_microservices".outbox set retry_at = now()
where retry_at > now() + $1::text::double precision * interval '1 millisecond'`

export const PUBLISHED = `update "elysia_microservices".outbox
set published_at = clock_timestamp(), retry_at = null, attempts = attempts + 1
where position = any ($1::text::bigint[]) and published_at is null`

/**
 * Lets events wait that the broker has not answered (milliseconds each): no relay sends them, or later events of their
 * keys, before that. If this process ends meanwhile, another attempt follows, and the broker knows the event by its id.
 */
export const LEFT = `update "elysia_microservices".outbox as event
set retry_at = clock_timestamp() + unanswered.pause * interval '1 millisecond'
from json_to_recordset($1::text::json) as unanswered (position bigint, pause double precision)
where event.position = unanswered.position`

/**
 * Records failures. Events with a pause (in milliseconds) wait for their next attempt; events without a pause are
 * put aside.
 */
export const FAILED = `update "elysia_microservices".outbox as event
set attempts = attempts + 1, reason = failure.reason,
  retry_at = clock_timestamp() + failure.pause * interval '1 millisecond',
  failed_at = case when failure.pause is null then clock_timestamp() end
from json_to_recordset($1::text::json) as failure (position bigint, reason text, pause double precision)
where event.position = failure.position and event.published_at is null and event.failed_at is null`

export const SLEEP = 'update "elysia_microservices".relay set asleep = $1::text::boolean'

/** Checks that the tables exist: this table exists from the first migration on. */
export const PROBE = 'select asleep from "elysia_microservices".relay'

export const STATS = `select
  (select count(*) from "elysia_microservices".outbox
    where published_at is null and failed_at is null and retry_at is null)
  + (select count(*) from "elysia_microservices".outbox where retry_at is not null) as pending,
  (select count(*) from "elysia_microservices".outbox where failed_at is not null) as failed,
  extract(epoch from clock_timestamp() - least(
    (select created_at from "elysia_microservices".outbox
      where published_at is null and failed_at is null and retry_at is null order by position limit 1),
    (select min(created_at) from "elysia_microservices".outbox where retry_at is not null)
  )) * 1000 as oldest`

export const PUT_ASIDE = `select position::text, id, pattern, key, headers::text, data::text, reason, attempts::text,
  (extract(epoch from failed_at) * 1000)::text as failed_at
from "elysia_microservices".outbox
where failed_at is not null and position > $1::text::bigint order by position limit $2::text::integer`

export const REDRIVE = `update "elysia_microservices".outbox set failed_at = null, retry_at = clock_timestamp()
where failed_at is not null and position = any ($1::text::bigint[]) returning true`

export const DISCARD = `delete from "elysia_microservices".outbox
where failed_at is not null and position = any ($1::text::bigint[]) returning true`

export const PRUNE = `delete from "elysia_microservices".outbox where position in (
  select position from "elysia_microservices".outbox
  where published_at < now() - $1::text::double precision * interval '1 millisecond'
  order by position limit $2::text::integer)
returning true`
