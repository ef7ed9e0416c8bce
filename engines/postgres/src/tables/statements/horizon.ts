/** The horizon of the log: positions are not in the order of commits, and no event is passed over. */
import { PINNED } from './pinned.ts'

export const HORIZON = `
-- Moves the horizon. Positions are not in the order of commits: an event with a low position may appear after events
-- with higher ones. So positions without an event are written down as holes, and looked after until their transactions
-- have ended. Every transaction has its number before its positions, so that all positions seen here belong to
-- transactions with lower numbers than this one, if it gets its number after it has seen them: it must not have one yet.
-- Returns whether there is more; null if another one moves it just now, for which it waits only if it is told to.
create function "elysia_microservices".advance(waits boolean default false) returns boolean language plpgsql
${PINNED} as $$
declare
  old bigint;
  last bigint;
  top bigint;
  mine xid8;
begin
  if waits then
    perform pg_advisory_xact_lock(hashtextextended('elysia_microservices.advance', 0));
  elsif not pg_try_advisory_xact_lock(hashtextextended('elysia_microservices.advance', 0)) then
    return null;
  end if;
  if pg_current_xact_id_if_assigned() is not null then
    raise exception 'advance() must be the first of its transaction that writes';
  end if;
  select horizon into old from "elysia_microservices".whole;
  -- Before the holes are looked at: an event whose transaction ends between the two would otherwise be overtaken by a
  -- later one of its key.
  select coalesce(max(position), 0) into last from "elysia_microservices".event;
  top := least(last, old + 10000);
  if exists (select from "elysia_microservices".hole) then
    with found as (
      delete from "elysia_microservices".hole using "elysia_microservices".event
        where event.position = hole.position returning event.position, event.pattern
    ), listed as (
      insert into "elysia_microservices".late (position) select position from found order by position
    )
    insert into "elysia_microservices".pattern as p (name, total, last)
      select found.pattern, count(*), max(found.position) from found group by found.pattern
      on conflict (name) do update set total = p.total + excluded.total, last = greatest(p.last, excluded.last);
    -- A number that is not below the end of the snapshot comes from another database, from which this one was restored.
    delete from "elysia_microservices".hole where
      (before <= pg_snapshot_xmin(pg_current_snapshot()) or before >= pg_snapshot_xmax(pg_current_snapshot()))
      and not exists (select from "elysia_microservices".event where event.position = hole.position);
  end if;
  if top <= old then return false; end if;
  mine := pg_current_xact_id();
  with present as materialized (
    select position, pattern from "elysia_microservices".event where position > old and position <= top
  ), holes as (
    insert into "elysia_microservices".hole (position, before)
      select generate_series(position_before + 1, position - 1), mine from (
        select position, lag(position, 1, old) over (order by position) as position_before
        from (select position from present union all select top + 1) as p
      ) as steps where position > position_before + 1
  ), moved as (
    update "elysia_microservices".whole set horizon = top
  )
  insert into "elysia_microservices".pattern as p (name, total, last)
    select present.pattern, count(*), max(present.position) from present group by present.pattern
    on conflict (name) do update set total = p.total + excluded.total, last = excluded.last;
  return top < last;
end
$$;
`
