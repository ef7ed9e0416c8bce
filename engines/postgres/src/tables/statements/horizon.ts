/** The horizon of the log: positions are not in the order of commits, and no event is passed over. */
import { PINNED } from './pinned.ts'

export const HORIZON = `
-- Moves the horizon. Positions are not in the order of commits: an event with a low position may appear after events
-- with higher ones. So positions without an event are written down as holes, and looked after until their transactions
-- have ended. Every transaction has its number before its positions, so that all positions seen here belong to
-- transactions with lower numbers than this one, if it gets its number after it has seen them: it must not have one yet.
-- Returns whether there is more; null if another one moves it just now, for which it waits only if it is told to.
create or replace function "elysia_microservices".advance(waits boolean default false) returns boolean language plpgsql
${PINNED} as $$
declare
  w "elysia_microservices".whole;
  active xid8[];
  last bigint;
  top bigint;
  mine xid8;
  looked bigint[];
  patterns text[];
  positions bigint[];
  size bigint;
begin
  if waits then
    perform pg_advisory_xact_lock(hashtextextended('elysia_microservices.advance', 0));
  elsif not pg_try_advisory_xact_lock(hashtextextended('elysia_microservices.advance', 0)) then
    return null;
  end if;
  if pg_current_xact_id_if_assigned() is not null then
    raise exception 'advance() must be the first of its transaction that writes';
  end if;
  select * into w from "elysia_microservices".whole order by horizon desc limit 1;
  -- Before the holes are looked at: an event whose transaction ends between the two would otherwise be overtaken by a
  -- later one of its key.
  select coalesce(max(position), 0) into last from "elysia_microservices".event;
  top := least(last, w.horizon + 10000);
  -- Before them, too: a transaction that ends between the two is looked for once more.
  active := array(select x from pg_snapshot_xip(pg_current_snapshot()) as x order by x);
  looked := array(select position from "elysia_microservices".hole where not is_old and position >= w.holes);
  if w.running <> array(select x from unnest(active) as x where x < w.before) then
    looked := looked || array(select position from "elysia_microservices".hole where is_old);
  end if;
  if cardinality(looked) > 0 then
    perform "elysia_microservices".look_at_holes(looked);
    with aged as (
      update "elysia_microservices".hole set is_old = true
        where position = any (looked) and not is_old and noted < clock_timestamp() - interval '1 second'
        returning before
    ) select before into mine from aged order by before desc limit 1;
    w.before := greatest(w.before, mine);
  end if;
  w.running := array(select x from unnest(active) as x where x < w.before);
  w.holes := coalesce((select min(position) from "elysia_microservices".hole
    where not is_old and position >= w.holes), w.horizon + 1);
  if top <= w.horizon then
    update "elysia_microservices".whole set holes = w.holes, before = w.before, running = w.running
      where horizon = w.horizon and (holes, before, running) is distinct from (w.holes, w.before, w.running);
    return false;
  end if;
  mine := pg_current_xact_id();
  with present as materialized (
    select position, pattern, "elysia_microservices".size_of(headers, body) as size from "elysia_microservices".event
      where position > w.horizon and position <= top
  ), holes as (
    insert into "elysia_microservices".hole (position, before)
      select generate_series(position_before + 1, position - 1), mine from (
        select position, lag(position, 1, w.horizon) over (order by position) as position_before
        from (select position from present union all select top + 1) as p
      ) as steps where position > position_before + 1
  ), moved as (
    update "elysia_microservices".whole set horizon = top, holes = w.holes, before = w.before, running = w.running
      where horizon = w.horizon
  )
  select array_agg(p.pattern), array_agg(p.position), coalesce(sum(p.size), 0) into patterns, positions, size
    from present as p;
  perform "elysia_microservices".count_events(patterns, positions);
  perform "elysia_microservices".count_stored(size);
  return top < last;
end
$$;

-- Lists the events that have appeared in holes, and forgets holes in which none will.
create or replace function "elysia_microservices".look_at_holes(looked bigint[]) returns void language plpgsql as $$
#variable_conflict use_column
declare
  patterns text[];
  positions bigint[];
  bytes bigint;
begin
  with found as (
    delete from "elysia_microservices".hole using "elysia_microservices".event
      where hole.position = any (looked) and event.position = hole.position
      returning event.position, event.pattern, "elysia_microservices".size_of(event.headers, event.body) as size
  ), listed as (
    insert into "elysia_microservices".late (position) select position from found order by position
  )
  select array_agg(pattern), array_agg(position), coalesce(sum(size), 0) into patterns, positions, bytes from found;
  perform "elysia_microservices".count_stored(bytes);
  perform "elysia_microservices".count_events(patterns, positions);
  -- A number that is not below the end of the snapshot comes from another database, from which this one was restored.
  delete from "elysia_microservices".hole where position = any (looked)
    and (before <= pg_snapshot_xmin(pg_current_snapshot()) or before >= pg_snapshot_xmax(pg_current_snapshot()))
    and not exists (select from "elysia_microservices".event where event.position = hole.position);
end
$$;

-- Counts events by their patterns.
create or replace function "elysia_microservices".count_events(patterns text[], positions bigint[]) returns void
language plpgsql as $$
declare
  one record;
begin
  for one in
    select u.name, count(*) as count, max(u.position) as last from unnest(patterns, positions) as u (name, position)
      group by u.name
  loop
    update "elysia_microservices".pattern set total = total + one.count, last = greatest(last, one.last)
      where name = one.name and total = (select total from "elysia_microservices".pattern where name = one.name
        order by name desc, total desc limit 1);
    if not found then
      insert into "elysia_microservices".pattern (name, total, last) values (one.name, one.count, one.last);
    end if;
  end loop;
end
$$;
`
