/** The statements that create the tables and functions, for a schema named `elysia_microservices`. */
import type { Migration } from '@elysia-microservices/outbox/database'

export const MIGRATIONS: readonly Migration[] = [
  {
    name: 'events_0001',
    statements: `
-- One row. Up to the horizon every position of the log is known: its event is readable, or the position is a hole.
create table "elysia_microservices".whole (
  one boolean primary key default true check (one),
  horizon bigint not null default 0,
  deleted bigint not null default 0
);
insert into "elysia_microservices".whole default values;

-- The log. Events are added in any order of commits, and deleted at the beginning when they are too old.
create sequence "elysia_microservices".event_position;
create table "elysia_microservices".event (
  position bigint primary key default nextval('"elysia_microservices".event_position'),
  pattern text not null,
  published timestamptz not null default clock_timestamp(),
  id text not null,
  key text,
  headers text,
  body text not null
);
create index event_of_pattern on "elysia_microservices".event (pattern, position);

-- The patterns of the events up to the horizon; the total counts the deleted ones, too.
create table "elysia_microservices".pattern (
  name text primary key,
  total bigint not null,
  last bigint not null
);

-- Ids, for the time within which an id is stored once.
create table "elysia_microservices".recent (
  pattern text not null,
  id text not null,
  position bigint not null,
  published timestamptz not null,
  primary key (pattern, id)
);
create index recent_by_time on "elysia_microservices".recent (published);

-- Positions up to the horizon whose transactions had not ended: an event appears there, or never will when all
-- transactions before a number have ended.
create table "elysia_microservices".hole (position bigint primary key, before xid8 not null);

-- Events that appeared in holes, in the order in which they were found.
create table "elysia_microservices".late (
  number bigint generated always as identity primary key,
  position bigint not null unique
);

-- Each group of each handler. It has got the late events up to a number, and the others up to the cursor.
create table "elysia_microservices".grp (
  id integer generated always as identity primary key,
  name text not null,
  pattern text not null,
  -- The pattern as a regular expression, if it has wildcards.
  matcher text,
  ordered boolean not null,
  paused boolean not null default false,
  cursor bigint not null,
  first_late bigint not null,
  late bigint not null,
  taken bigint not null,
  unique (name, pattern)
);

-- A process that handles events, as long as it gives signs of life.
create table "elysia_microservices".process (
  id text primary key,
  seen timestamptz not null,
  asleep boolean not null default false
);

-- Events that run in a process, or wait in it for others of their key. 'attempts' counts the runs that have begun.
create table "elysia_microservices".batch (
  id bigint generated always as identity primary key,
  grp integer not null,
  process text not null,
  positions bigint[] not null,
  letters bigint[] not null,
  attempts integer[] not null,
  keys text[] not null
);
create index batch_of_process on "elysia_microservices".batch (process);
create index batch_of_group on "elysia_microservices".batch (grp);

-- Events behind the cursor that nobody has: they failed, were given back, or wait for others of their key. 'letter' is
-- 0, or the dead letter that was given back; 'attempt' counts the runs that have begun.
create table "elysia_microservices".pending (
  grp integer not null,
  position bigint not null,
  letter bigint not null,
  attempt integer not null,
  due timestamptz not null,
  key text,
  primary key (grp, position, letter)
);
create index pending_by_due on "elysia_microservices".pending (grp, due, position);

-- Dead letters, whole: the log does not keep an event for ever.
create table "elysia_microservices".letter (
  place bigint generated always as identity primary key,
  grp integer not null,
  position bigint not null,
  pattern text not null,
  published timestamptz not null,
  id text not null,
  key text,
  headers text,
  body text not null,
  reason text not null,
  attempts integer not null,
  died timestamptz not null default clock_timestamp(),
  pending boolean not null default false
);
create index letter_of_group on "elysia_microservices".letter (grp, place);

-- Events of the future, until they are due.
create table "elysia_microservices".later (
  pattern text not null,
  id text not null,
  due timestamptz not null,
  key text,
  headers text,
  body text not null,
  primary key (pattern, id)
);
create index later_by_due on "elysia_microservices".later (due);

-- Wakes processes, if one sleeps: commits that notify wait for one another.
create function "elysia_microservices".wake_handlers() returns void language plpgsql as $$
begin
  if exists (select from "elysia_microservices".process where asleep) then
    perform pg_notify('elysia_microservices_events', '');
  end if;
end
$$;

-- Stores events in the caller's transaction, in their order.
create function "elysia_microservices".store_events(events json, duplicate_window integer)
returns table (number integer, place text, is_duplicate boolean) language plpgsql as $$
#variable_conflict use_column
declare
  one record;
  at bigint;
begin
  -- Transactions that publish the same key wait here for one another until they end, so that positions of one key are in
  -- the order of commits. The locks are taken in one order by all.
  perform pg_advisory_xact_lock(lock) from (
    select distinct hashtextextended('elysia_microservices.event ' || (e ->> 'key'), 0) as lock
    from json_array_elements(events) as e where e ->> 'key' is not null order by 1
  ) as locks;
  -- The transaction has its number before the first event has its position: see advance().
  perform pg_current_xact_id();
  for one in
    select n, e ->> 'pattern' as pattern, e ->> 'id' as id, e ->> 'key' as key, e ->> 'headers' as headers,
      e ->> 'body' as body, to_timestamp((e ->> 'due')::double precision / 1000) as due
    from json_array_elements(events) with ordinality as list (e, n) order by n
  loop
    number := one.n;
    is_duplicate := true;
    select position into at from "elysia_microservices".recent
      where pattern = one.pattern and id = one.id
        and published > clock_timestamp() - duplicate_window * interval '1 millisecond';
    if found then
      place := at::text;
    elsif exists (select from "elysia_microservices".later where pattern = one.pattern and id = one.id) then
      place := null;
    elsif one.due is not null then
      place := null;
      insert into "elysia_microservices".later (pattern, id, due, key, headers, body)
        values (one.pattern, one.id, one.due, one.key, one.headers, one.body) on conflict do nothing;
      is_duplicate := not found;
    else
      at := nextval('"elysia_microservices".event_position');
      insert into "elysia_microservices".recent as r (pattern, id, position, published)
        values (one.pattern, one.id, at, clock_timestamp())
        on conflict (pattern, id) do update set position = at, published = excluded.published
        where r.published <= clock_timestamp() - duplicate_window * interval '1 millisecond';
      is_duplicate := not found;
      if is_duplicate then
        -- Another transaction was first, and has been committed meanwhile.
        select position into at from "elysia_microservices".recent where pattern = one.pattern and id = one.id;
      else
        insert into "elysia_microservices".event (position, pattern, id, key, headers, body)
          values (at, one.pattern, one.id, one.key, one.headers, one.body);
      end if;
      place := at::text;
    end if;
    return next;
  end loop;
  perform "elysia_microservices".wake_handlers();
end
$$;

-- Moves the horizon. Positions are not in the order of commits: an event with a low position may appear after events
-- with higher ones. So positions without an event are written down as holes, and looked after until their transactions
-- have ended. Every transaction has its number before its positions, so that all positions seen here belong to
-- transactions with lower numbers than this one, if it gets its number after it has seen them: it must not have one yet.
-- Returns whether there may be more; waits for others that move it only if it is told to.
create function "elysia_microservices".advance(waits boolean default false) returns boolean language plpgsql as $$
declare
  old bigint;
  last bigint;
  top bigint;
  mine xid8;
begin
  if waits then
    perform pg_advisory_xact_lock(hashtextextended('elysia_microservices.advance', 0));
  elsif not pg_try_advisory_xact_lock(hashtextextended('elysia_microservices.advance', 0)) then
    return true;
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
      select p, mine from generate_series(old + 1, top) as p
      where not exists (select from present where present.position = p)
  ), moved as (
    update "elysia_microservices".whole set horizon = top
  )
  insert into "elysia_microservices".pattern as p (name, total, last)
    select present.pattern, count(*), max(present.position) from present group by present.pattern
    on conflict (name) do update set total = p.total + excluded.total, last = excluded.last;
  return top < last;
end
$$;

-- Publishes events of the future whose time has come.
create function "elysia_microservices".fire(most integer) returns void language plpgsql as $$
begin
  if not exists (select from "elysia_microservices".later where due <= clock_timestamp()) then return; end if;
  perform "elysia_microservices".fire_these(array(
    select row(l.*)::"elysia_microservices".later from "elysia_microservices".later as l
      where due <= clock_timestamp() order by due, pattern, id limit most for update skip locked));
end
$$;

create function "elysia_microservices".fire_these(these "elysia_microservices".later[]) returns void
language plpgsql as $$
declare
  one "elysia_microservices".later;
  at bigint;
begin
  perform pg_current_xact_id();
  foreach one in array these loop
    if one.key is not null then
      perform pg_advisory_xact_lock(hashtextextended('elysia_microservices.event ' || one.key, 0));
    end if;
    delete from "elysia_microservices".later where pattern = one.pattern and id = one.id;
    at := nextval('"elysia_microservices".event_position');
    insert into "elysia_microservices".event (position, pattern, id, key, headers, body)
      values (at, one.pattern, one.id, one.key, one.headers, one.body);
    insert into "elysia_microservices".recent (pattern, id, position, published)
      values (one.pattern, one.id, at, clock_timestamp())
      on conflict (pattern, id) do update set position = excluded.position, published = excluded.published;
  end loop;
end
$$;

-- The group of a handler, which is created if it is missing. 'since' and 'after' are null unless the start says so.
create function "elysia_microservices".join_group(
  group_name text, group_pattern text, group_matcher text, is_ordered boolean, start text, since timestamptz, after bigint
) returns table (id integer, ordered boolean, skipped bigint) language plpgsql as $$
#variable_conflict use_column
declare
  h "elysia_microservices".whole;
  at bigint;
  count_skipped bigint := 0;
begin
  if not exists (select from "elysia_microservices".grp where name = group_name and pattern = group_pattern) then
    -- The horizon stands still, so that totals and cursor fit together.
    perform pg_advisory_xact_lock(hashtextextended('elysia_microservices.advance', 0));
    select * into h from "elysia_microservices".whole;
    at := case start
      -- What is published from now on has a higher position.
      when 'new' then h.horizon
      when 'all' then h.deleted
      when 'after' then least(h.horizon, greatest(h.deleted, after))
      else coalesce((select min(position) - 1 from "elysia_microservices".event where published >= since), h.horizon)
    end;
    insert into "elysia_microservices".grp
      (name, pattern, matcher, ordered, cursor, first_late, late, taken)
      select group_name, group_pattern, group_matcher, is_ordered, at, latest, latest,
        coalesce((select sum(total) from "elysia_microservices".pattern where
          case when group_matcher is null then name = group_pattern else name ~ group_matcher end), 0)
        - (select count(*) from "elysia_microservices".event as e where position > at and position <= h.horizon
          and case when group_matcher is null then pattern = group_pattern else pattern ~ group_matcher end
          and not exists (select from "elysia_microservices".hole where hole.position = e.position))
      from (select coalesce(max(number), 0) as latest from "elysia_microservices".late) as l
      on conflict do nothing;
    if found and start = 'new' then
      select count(*) into count_skipped from "elysia_microservices".event as e
        where case when group_matcher is null then pattern = group_pattern else pattern ~ group_matcher end;
    end if;
  end if;
  return query select g.id, g.ordered, count_skipped from "elysia_microservices".grp as g
    where g.name = group_name and g.pattern = group_pattern;
end
$$;

-- Takes events of one group for a process.
create function "elysia_microservices".take_events(
  group_id integer, most integer, owner text
) returns setof json language plpgsql as $$
#variable_conflict use_column
declare
  g "elysia_microservices".grp;
  h bigint;
  one record;
  room integer := most;
  busy text[] := '{}';
  positions bigint[] := '{}';
  letters bigint[] := '{}';
  attempts integer[] := '{}';
  keys text[] := '{}';
  passed bigint;
  number bigint;
  latest bigint;
  lates integer := 0;
  waiting integer := 0;
  batch_id bigint;
  at integer;
  passing integer := 0;
  most_rows integer;
  rows_read integer := 0;
begin
  -- Processes of a group take one after the other.
  select * into g from "elysia_microservices".grp where id = group_id for update;
  if not found or g.paused or most <= 0 then return; end if;
  select horizon into h from "elysia_microservices".whole;
  if g.ordered then
    select coalesce(array_agg(k), '{}') into busy
      from "elysia_microservices".batch, unnest(batch.keys) as k
      where grp = g.id and process <> owner and k is not null;
  end if;

  -- First those that come back.
  for one in
    select position, letter, attempt, key from "elysia_microservices".pending
      where grp = g.id and due <= clock_timestamp() and (key is null or key <> all (busy))
      order by due, position, letter limit room
  loop
    delete from "elysia_microservices".pending
      where grp = g.id and position = one.position and letter = one.letter;
    positions := positions || one.position;
    letters := letters || one.letter;
    attempts := attempts || one.attempt;
    keys := array_append(keys, one.key);
  end loop;
  room := most - coalesce(array_length(positions, 1), 0);

  if g.ordered then
    select coalesce(array_agg(distinct key), '{}') || busy, count(*) into busy, waiting
      from "elysia_microservices".pending where grp = g.id and key is not null;
  end if;

  -- Then those that were found late, and then the log up to the horizon.
  select max(l.number) into latest from "elysia_microservices".late as l;
  for one in
    select * from (
      (select l.number, e.position, e.key from "elysia_microservices".late as l
        join "elysia_microservices".event as e on e.position = l.position
        where l.number > g.late and l.number <= latest
          and case when g.matcher is null then e.pattern = g.pattern else e.pattern ~ g.matcher end
        order by l.number limit most + 64)
    ) as lates
  loop
    lates := lates + 1;
    if room <= 0 or waiting >= 2000 then
      lates := most + 64;
      exit;
    end if;
    number := one.number;
    passing := passing + 1;
    if one.key is not null and one.key = any (busy) then
      insert into "elysia_microservices".pending values (g.id, one.position, 0, 0, '-infinity', one.key);
      waiting := waiting + 1;
      continue;
    end if;
    room := room - 1;
    positions := positions || one.position;
    letters := letters || 0::bigint;
    attempts := attempts || 0;
    keys := array_append(keys, one.key);
  end loop;
  -- There are no more that were found late.
  if lates < most + 64 then number := latest; end if;
  if room > 0 and waiting < 2000 then
    most_rows := room + case when g.ordered then 64 else 0 end;
    for one in
      select e.position, e.key from "elysia_microservices".event as e
        where e.position > g.cursor and e.position <= h
          and case when g.matcher is null then e.pattern = g.pattern else e.pattern ~ g.matcher end
          and not exists (select from "elysia_microservices".hole where hole.position = e.position)
          and not exists (select from "elysia_microservices".late as l
            where l.position = e.position and l.number > g.first_late)
        order by e.position limit most_rows
    loop
      rows_read := rows_read + 1;
      if room <= 0 or waiting >= 2000 then
        rows_read := most_rows;
        exit;
      end if;
      passed := one.position;
      passing := passing + 1;
      if g.ordered and one.key is not null and one.key = any (busy) then
        insert into "elysia_microservices".pending values (g.id, one.position, 0, 0, '-infinity', one.key);
        waiting := waiting + 1;
        continue;
      end if;
      room := room - 1;
      positions := positions || one.position;
      letters := letters || 0::bigint;
      attempts := attempts || 0;
      keys := array_append(keys, one.key);
    end loop;
    -- There is nothing more up to the horizon.
    if rows_read < most_rows then passed := h; end if;
  end if;
  if passing > 0 or passed > g.cursor or number > g.late then
    update "elysia_microservices".grp set cursor = greatest(cursor, coalesce(passed, cursor)),
      late = greatest(late, coalesce(number, late)), taken = grp.taken + passing where id = g.id;
  end if;
  if array_length(positions, 1) is null then return; end if;

  insert into "elysia_microservices".batch (grp, process, positions, letters, attempts, keys)
    values (g.id, owner, positions, letters, array(
      -- Those that wait for others of their key have not begun.
      select a + case when g.ordered and k = any (keys[1:n - 1]) then 0 else 1 end
      from unnest(attempts, keys) with ordinality as u (a, k, n) order by n
    ), keys) returning id into batch_id;
  for at in 1 .. array_length(positions, 1) loop
    return query select "elysia_microservices".show_event(g.id, batch_id, positions[at], letters[at], attempts[at] + 1);
  end loop;
end
$$;

create function "elysia_microservices".show_event(
  group_id integer, batch_id bigint, at bigint, letter_place bigint, attempt integer
) returns json language sql as $$
  select json_build_object('group', group_id, 'batch', batch_id::text, 'position', at::text, 'letter', letter_place::text,
    'attempt', attempt, 'published', extract(epoch from published) * 1000, 'pattern', pattern, 'id', id, 'key', key,
    'headers', headers, 'body', body)
  from (
    select published, pattern, id, key, headers, body from "elysia_microservices".event
      where letter_place = 0 and position = at
    union all
    select published, pattern, id, key, headers, body from "elysia_microservices".letter
      where letter_place <> 0 and place = letter_place
  ) as e
  -- The log may have deleted it meanwhile.
  union all
  select json_build_object('group', group_id, 'batch', batch_id::text, 'position', at::text,
    'letter', letter_place::text, 'attempt', attempt, 'vanished', true)
  where letter_place = 0 and not exists (select from "elysia_microservices".event where position = at)
$$;

-- Writes what has become of events. Each entry has a batch, its events that are left, and those that were put off or are
-- dead. An entry of a batch that this process has lost does nothing, nor does what is written again because its answer
-- was lost. Returns the lost batches.
create function "elysia_microservices".settle_events(owner text, settled json) returns setof text language plpgsql as $$
declare
  one json;
  group_id integer;
  held bigint[];
begin
  for one in select * from json_array_elements(settled) loop
    select grp, positions into group_id, held from "elysia_microservices".batch
      where id = (one ->> 'batch')::bigint and process = owner for update;
    if not found then
      return next one ->> 'batch';
      continue;
    end if;
    if json_array_length(one -> 'left') = 0 then
      delete from "elysia_microservices".batch where id = (one ->> 'batch')::bigint;
    else
      update "elysia_microservices".batch set
          positions = array(select (e ->> 'position')::bigint from json_array_elements(one -> 'left') as e),
          letters = array(select (e ->> 'letter')::bigint from json_array_elements(one -> 'left') as e),
          attempts = array(select (e ->> 'attempt')::integer from json_array_elements(one -> 'left') as e),
          keys = array(select e ->> 'lock' from json_array_elements(one -> 'left') as e)
        where id = (one ->> 'batch')::bigint;
    end if;
    insert into "elysia_microservices".letter
      (grp, position, pattern, published, id, key, headers, body, reason, attempts)
      select group_id, e.position, e.pattern, to_timestamp(e.published / 1000), e.id, e.key, e.headers, e.body,
        e.reason, e.attempt
      from json_to_recordset(one -> 'dead') as e (position bigint, pattern text, published double precision, id text,
        key text, headers text, body text, reason text, attempt integer)
      where e.position = any (held);
    insert into "elysia_microservices".pending (grp, position, letter, attempt, due, key)
      select group_id, e.position, e.letter, e.attempt,
        case when e.delay <= 0 then '-infinity' else clock_timestamp() + e.delay * interval '1 millisecond' end, e.lock
      from json_to_recordset(one -> 'back') as e (position bigint, letter bigint, attempt integer,
        delay double precision, lock text)
      where e.position = any (held)
      on conflict do nothing;
    delete from "elysia_microservices".letter
      where place in (select value::bigint from json_array_elements_text(one -> 'over')) and pending;
  end loop;
end
$$;

-- One turn of a process: what is settled is written, and events are taken for the handlers that have room. 'known' are
-- the batches of which the process knows.
create function "elysia_microservices".turn(
  owner text, lease integer, settled json, known json, wanted json, will_sleep boolean
) returns json language plpgsql as $$
declare
  lost json;
  taken json;
  dead text;
  next timestamptz;
begin
  perform "elysia_microservices".advance();
  perform "elysia_microservices".fire(500);
  insert into "elysia_microservices".process as p (id, seen, asleep) values (owner, clock_timestamp(), will_sleep)
    on conflict (id) do update set seen = excluded.seen, asleep = excluded.asleep
    where p.seen < clock_timestamp() - lease * interval '0.25 millisecond' or p.asleep <> excluded.asleep;
  for dead in
    delete from "elysia_microservices".process where id in (
      select id from "elysia_microservices".process
        where seen < clock_timestamp() - lease * interval '1 millisecond' for update skip locked
    ) returning id
  loop
    with gone as (delete from "elysia_microservices".batch where process = dead returning *)
    insert into "elysia_microservices".pending (grp, position, letter, attempt, due, key)
      select grp, position, letter, attempt, '-infinity', key
      from gone, unnest(positions, letters, attempts, keys) as u (position, letter, attempt, key)
      on conflict do nothing;
  end loop;
  select json_agg(batch) into lost from "elysia_microservices".settle_events(owner, settled) as batch;
  -- A turn whose answer was lost has taken these: they have not begun.
  with gone as (
    delete from "elysia_microservices".batch where process = owner
      and id <> all (array(select value::bigint from json_array_elements_text(known))) returning *
  )
  insert into "elysia_microservices".pending (grp, position, letter, attempt, due, key)
    select gone.grp, u.position, u.letter,
      u.attempt - case when grp.ordered and u.key = any (keys[1:n - 1]) then 0 else 1 end, '-infinity', u.key
    from gone join "elysia_microservices".grp on grp.id = gone.grp,
      unnest(positions, letters, attempts, keys) with ordinality as u (position, letter, attempt, key, n)
    on conflict do nothing;
  select json_agg(event) into taken
    from json_to_recordset(wanted) as w (id integer, most integer),
      lateral "elysia_microservices".take_events(w.id, w.most, owner) as event
    where "elysia_microservices".has_more(w.id);
  if will_sleep then
    select least((select min(due) from "elysia_microservices".later), (
      select min(due) from json_to_recordset(wanted) as w (id integer), lateral (
        select due from "elysia_microservices".pending as p where p.grp = w.id and p.due > clock_timestamp()
          order by due limit 1) as d)) into next;
  end if;
  return json_build_object('lost', coalesce(lost, '[]'), 'taken', coalesce(taken, '[]'),
    'next', ceil(extract(epoch from next - clock_timestamp()) * 1000));
end
$$;

create function "elysia_microservices".has_more(group_id integer) returns boolean language sql stable as $$
  select not g.paused and (
    exists (select from "elysia_microservices".pending as p where p.grp = g.id and p.due <= clock_timestamp())
    or exists (select from "elysia_microservices".late as l where l.number > g.late)
    or case when g.matcher is null
      then exists (select from "elysia_microservices".pattern as p where p.name = g.pattern and p.last > g.cursor)
      else (select horizon from "elysia_microservices".whole) > g.cursor end)
  from "elysia_microservices".grp as g where g.id = group_id
$$;

-- The figures of groups, without counting the log.
create function "elysia_microservices".figures(ids json) returns json language sql stable as $$
  select json_agg(json_build_object('id', g.id, 'paused', g.paused, 'lag',
    coalesce((select sum(total) from "elysia_microservices".pattern as p where
      case when g.matcher is null then p.name = g.pattern else p.name ~ g.matcher end), 0) - g.taken
    + (select count(*) from "elysia_microservices".pending as p where p.grp = g.id)
    + coalesce((select sum(array_length(positions, 1)) from "elysia_microservices".batch as b where b.grp = g.id), 0)))
  from "elysia_microservices".grp as g where g.id in (select value::integer from json_array_elements_text(ids))
$$;

-- A process has ended: what it had is taken by others.
create function "elysia_microservices".leave(owner text) returns void language plpgsql as $$
begin
  update "elysia_microservices".process set seen = '-infinity', asleep = false where id = owner;
  perform "elysia_microservices".wake_handlers();
end
$$;

-- Deletes what is too old, at most 500 events. Returns whether there may be more.
create function "elysia_microservices".prune_events(max_age bigint, duplicate_window integer)
returns boolean language plpgsql as $$
declare
  upto bigint;
  count integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('elysia_microservices.prune', 0)) then return false; end if;
  delete from "elysia_microservices".recent where (pattern, id) in (
    select pattern, id from "elysia_microservices".recent
      where published <= clock_timestamp() - duplicate_window * interval '1 millisecond' order by published limit 500);
  if max_age > 0 then
    select max(position) into upto from (
      select position, published from "elysia_microservices".event
        where position <= (select horizon from "elysia_microservices".whole) order by position limit 500
    ) as oldest where published <= clock_timestamp() - max_age * interval '1 millisecond';
    if upto is not null then
      delete from "elysia_microservices".event where position <= upto;
      get diagnostics count = row_count;
      update "elysia_microservices".whole set deleted = upto;
      delete from "elysia_microservices".late where position <= upto;
    end if;
  end if;
  return count >= 500;
end
$$;
`
  }
]
