-- The migration events_0001 of 0.1.0, without its comments.
create table "elysia_microservices".whole (
  horizon bigint primary key default 0,
  holes bigint not null default 0,
  before xid8 not null default '0',
  running xid8[] not null default '{}'
);
insert into "elysia_microservices".whole default values;
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
create table "elysia_microservices".pattern (
  name text not null,
  total bigint not null,
  last bigint not null,
  primary key (name, total)
);
create table "elysia_microservices".recent (
  pattern text not null,
  id text not null,
  position bigint not null,
  published timestamptz not null,
  primary key (pattern, id)
);
create index recent_by_time on "elysia_microservices".recent (published);
create table "elysia_microservices".hole (
  position bigint primary key,
  before xid8 not null,
  noted timestamptz not null default clock_timestamp(),
  is_old boolean not null default false
);
create index young_hole on "elysia_microservices".hole (position) where not is_old;
create index old_hole on "elysia_microservices".hole (position) where is_old;
create table "elysia_microservices".late (
  number bigint generated always as identity primary key,
  position bigint not null unique
);
create table "elysia_microservices".grp (
  id integer generated always as identity primary key,
  name text not null,
  pattern text not null,
  matcher text,
  ordered boolean not null,
  paused boolean not null default false,
  unique (name, pattern)
);
create table "elysia_microservices".progress (
  grp integer not null,
  version bigint not null default 0,
  cursor bigint not null,
  late bigint not null,
  taken bigint not null,
  batches bigint not null default 0,
  queued bigint not null default 0,
  primary key (grp, version)
);
create view "elysia_microservices".standing as
  select g.*, p.cursor, p.late, p.taken, p.batches, p.queued from "elysia_microservices".grp as g, lateral (
    select * from "elysia_microservices".progress where grp = g.id order by version desc limit 1) as p;
create table "elysia_microservices".process (
  id text primary key,
  seen timestamptz not null,
  asleep boolean not null default false
);
create table "elysia_microservices".batch (
  id bigint generated always as identity primary key,
  grp integer not null,
  process text not null,
  positions bigint[] not null,
  letters bigint[] not null,
  attempts integer[] not null,
  keys text[] not null,
  claimed boolean not null
);
create index batch_of_process on "elysia_microservices".batch (process, id);
create index batch_of_group on "elysia_microservices".batch (grp, id);
create table "elysia_microservices".claim (
  batch bigint not null,
  position bigint not null,
  letter bigint not null,
  primary key (batch, position, letter)
);
create table "elysia_microservices".queued (
  grp integer not null,
  position bigint not null,
  key text not null,
  primary key (grp, position)
);
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
create function "elysia_microservices".wake_handlers() returns void language plpgsql as $$
begin
  if exists (select from "elysia_microservices".process where asleep) then
    perform pg_notify('elysia_microservices_events', '');
  end if;
end
$$;
create function "elysia_microservices".lock_of(key text) returns bigint language sql immutable as $$
  select hashtextextended('elysia_microservices.event ' || key, 0)
$$;
create function "elysia_microservices".store_events(events json, duplicate_window integer, waits boolean)
returns table (number integer, place text, is_duplicate boolean, is_held boolean) language plpgsql as $$
#variable_conflict use_column
declare
  one record;
  stored text;
  held text[] := '{}';
begin
  if waits then
    perform pg_advisory_xact_lock(lock) from (
      select distinct "elysia_microservices".lock_of(key) as lock
      from json_to_recordset(events) as e (key text) where key is not null order by 1
    ) as locks;
  else
    held := array(
      select key from (select distinct key from json_to_recordset(events) as e (key text) where key is not null offset 0) as k
        where not pg_try_advisory_xact_lock("elysia_microservices".lock_of(key)));
  end if;
  perform pg_current_xact_id();
  for one in
    select n, e.pattern, e.id, e.key, e.headers, e.body,
      case when e.delay is null then to_timestamp(e.due / 1000)
        else least(clock_timestamp() + e.delay * interval '1 millisecond', to_timestamp(8.64e12)) end as due
    from rows from (json_to_recordset(events) as (pattern text, id text, key text, headers text, body text,
      due double precision, delay double precision)) with ordinality as e (pattern, id, key, headers, body, due, delay, n)
    order by n
  loop
    number := one.n;
    place := null;
    is_duplicate := false;
    is_held := one.key = any (held);
    if is_held then
      return next;
      continue;
    end if;
    stored := "elysia_microservices".store_event(one.pattern, one.id, one.key, one.headers, one.body, one.due,
      duplicate_window, false);
    place := nullif(split_part(stored, '=', 1), '');
    is_duplicate := strpos(stored, '=') > 0;
    return next;
  end loop;
  perform "elysia_microservices".wake_handlers();
end
$$;
create function "elysia_microservices".store_event(of_pattern text, of_id text, key text, headers text, body text,
  due timestamptz, duplicate_window integer, wakes boolean) returns text language plpgsql as $$
declare
  at bigint;
  is_future boolean := coalesce(due > clock_timestamp(), false);
  transaction xid8;
begin
  if key is not null then
    perform pg_advisory_xact_lock("elysia_microservices".lock_of(key));
  end if;
  transaction := pg_current_xact_id();
  if not is_future then
    with known as (
      insert into "elysia_microservices".recent as r (pattern, id, position, published)
        select of_pattern, of_id, nextval('"elysia_microservices".event_position'), clock_timestamp()
          where not exists (select from "elysia_microservices".later as l where l.pattern = of_pattern and l.id = of_id)
        on conflict (pattern, id) do update set position = excluded.position, published = excluded.published
          where r.published <= clock_timestamp() - duplicate_window * interval '1 millisecond'
        returning r.position
    ), stored as (
      insert into "elysia_microservices".event (position, pattern, id, key, headers, body)
        select position, of_pattern, of_id, store_event.key, store_event.headers, store_event.body from known
    )
    select position into at from known;
    if at is not null then
      if wakes and exists (select from "elysia_microservices".process where asleep) then
        perform pg_notify('elysia_microservices_events', '');
      end if;
      return at::text;
    end if;
  end if;
  if not exists (select from "elysia_microservices".later as l where l.pattern = of_pattern and l.id = of_id) then
    select position into at from "elysia_microservices".recent as r where r.pattern = of_pattern and r.id = of_id
      and (not is_future or r.published > clock_timestamp() - duplicate_window * interval '1 millisecond');
    if is_future and at is null then
      insert into "elysia_microservices".later (pattern, id, due, key, headers, body)
        values (of_pattern, of_id, due, key, headers, body) on conflict do nothing;
      return case when found then '' else '=' end;
    end if;
  end if;
  return concat(at::text, '=');
end
$$;
create function "elysia_microservices".fire(most integer, due_from timestamptz) returns boolean language plpgsql as $$
declare
  these "elysia_microservices".later[];
  busy text[] := '{}';
  met text[];
begin
  if not exists (select from "elysia_microservices".later where due >= due_from and due <= (select clock_timestamp())) then
    return false;
  end if;
  if not pg_try_advisory_xact_lock(hashtextextended('elysia_microservices.fire', 0)) then return false; end if;
  loop
    these := array(select row(l.*)::"elysia_microservices".later from "elysia_microservices".later as l
      where due >= due_from and due <= (select clock_timestamp()) and (key is null or key <> all (busy))
      order by due, pattern, id limit most for update skip locked);
    met := array(select key from (select distinct key from unnest(these) where key is not null offset 0) as keys
      where not pg_try_advisory_xact_lock("elysia_microservices".lock_of(key)));
    exit when met = '{}';
    busy := busy || met;
  end loop;
  if these = '{}' then return false; end if;
  perform "elysia_microservices".fire_these(these);
  perform "elysia_microservices".wake_handlers();
  return true;
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
      perform pg_advisory_xact_lock("elysia_microservices".lock_of(one.key));
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
create function "elysia_microservices".prune_events(
  max_age bigint, duplicate_window integer, deleted bigint, forgotten bigint
) returns json language plpgsql set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
  set jit = off as $$
declare
  ids_from timestamptz := to_timestamp(forgotten / 1000.0);
  ids_until timestamptz := clock_timestamp() - duplicate_window * interval '1 millisecond';
  upto bigint;
  ids integer := 0;
  count integer := 0;
begin
  if pg_try_advisory_xact_lock(hashtextextended('elysia_microservices.prune', 0)) then
    delete from "elysia_microservices".recent where (pattern, id) in (
      select pattern, id from "elysia_microservices".recent
        where published >= ids_from and published <= ids_until order by published limit 500
        for update skip locked);
    get diagnostics ids = row_count;
    ids_from := least(ids_until, (select published from "elysia_microservices".recent
      where published >= ids_from order by published limit 1 for update skip locked));
    if max_age > 0 then
      select max(position) into upto from (
        select position, published from "elysia_microservices".event
          where position > deleted and position <= (select max(horizon) from "elysia_microservices".whole)
          order by position limit 500
      ) as oldest where published <= clock_timestamp() - max_age * interval '1 millisecond';
      if upto is not null then
        delete from "elysia_microservices".event where position > deleted and position <= upto;
        get diagnostics count = row_count;
        delete from "elysia_microservices".late where position > deleted and position <= upto;
      end if;
      deleted := least((select max(horizon) from "elysia_microservices".whole), (select position - 1
        from "elysia_microservices".event where position > coalesce(upto, deleted) order by position limit 1));
    end if;
  end if;
  return json_build_object('more', greatest(ids, count) >= 500, 'deleted', deleted::text,
    'forgotten', floor(extract(epoch from ids_from) * 1000));
end
$$;
create function "elysia_microservices".advance(waits boolean default false) returns boolean language plpgsql
set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
  set jit = off as $$
declare
  w "elysia_microservices".whole;
  active xid8[];
  last bigint;
  top bigint;
  mine xid8;
  looked bigint[];
  patterns text[];
  positions bigint[];
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
  select coalesce(max(position), 0) into last from "elysia_microservices".event;
  top := least(last, w.horizon + 10000);
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
    select position, pattern from "elysia_microservices".event where position > w.horizon and position <= top
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
  select array_agg(pattern), array_agg(position) into patterns, positions from present;
  perform "elysia_microservices".count_events(patterns, positions);
  return top < last;
end
$$;
create function "elysia_microservices".look_at_holes(looked bigint[]) returns void language plpgsql as $$
#variable_conflict use_column
declare
  patterns text[];
  positions bigint[];
begin
  with found as (
    delete from "elysia_microservices".hole using "elysia_microservices".event
      where hole.position = any (looked) and event.position = hole.position returning event.position, event.pattern
  ), listed as (
    insert into "elysia_microservices".late (position) select position from found order by position
  )
  select array_agg(pattern), array_agg(position) into patterns, positions from found;
  perform "elysia_microservices".count_events(patterns, positions);
  delete from "elysia_microservices".hole where position = any (looked)
    and (before <= pg_snapshot_xmin(pg_current_snapshot()) or before >= pg_snapshot_xmax(pg_current_snapshot()))
    and not exists (select from "elysia_microservices".event where event.position = hole.position);
end
$$;
create function "elysia_microservices".count_events(patterns text[], positions bigint[]) returns void
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
create function "elysia_microservices".join_group(
  group_name text, group_pattern text, group_matcher text, is_ordered boolean, start text, since timestamptz, after bigint
) returns table (id integer, ordered boolean, skipped bigint) language plpgsql as $$
#variable_conflict use_column
declare
  h bigint;
  at bigint;
  count_skipped bigint := 0;
begin
  if not exists (select from "elysia_microservices".grp where name = group_name and pattern = group_pattern) then
    perform pg_advisory_xact_lock(hashtextextended('elysia_microservices.advance', 0));
    select max(horizon) into h from "elysia_microservices".whole;
    at := least(h, case start
      when 'new' then h
      when 'all' then (select min(position) - 1 from "elysia_microservices".event)
      when 'after' then after
      else (select min(position) - 1 from "elysia_microservices".event where published >= since)
    end);
    with made as (
      insert into "elysia_microservices".grp (name, pattern, matcher, ordered)
        values (group_name, group_pattern, group_matcher, is_ordered) on conflict do nothing returning grp.id
    )
    insert into "elysia_microservices".progress (grp, cursor, late, taken)
      select made.id, at, (select coalesce(max(number), 0) from "elysia_microservices".late),
        "elysia_microservices".total_of(group_pattern, group_matcher)
        - (select count(*) from "elysia_microservices".event as e where position > at and position <= h
          and case when group_matcher is null then pattern = group_pattern else pattern ~ group_matcher end
          and not exists (select from "elysia_microservices".hole where hole.position = e.position))
      from made;
    if found and start = 'new' then
      select count(*) into count_skipped from "elysia_microservices".event as e
        where case when group_matcher is null then pattern = group_pattern else pattern ~ group_matcher end;
    end if;
  end if;
  return query select g.id, g.ordered, count_skipped from "elysia_microservices".grp as g
    where g.name = group_name and g.pattern = group_pattern;
end
$$;
create function "elysia_microservices".total_of(of_pattern text, matcher text) returns bigint language plpgsql stable as $$
begin
  if matcher is null then
    return coalesce((select total from "elysia_microservices".pattern where name = of_pattern
      order by name desc, total desc limit 1), 0);
  end if;
  return (with recursive newest as (
    (select name, total from "elysia_microservices".pattern order by name desc, total desc limit 1)
    union all
    select p.name, p.total from newest as n, lateral (
      select name, total from "elysia_microservices".pattern where name < n.name
        order by name desc, total desc limit 1) as p
  ) select coalesce(sum(total), 0) from newest where name ~ matcher);
end
$$;
create function "elysia_microservices".has_more(group_id integer, due_from timestamptz) returns boolean
language plpgsql stable as $$
begin
  return (select not g.paused and (
    exists (select from "elysia_microservices".pending as p
      where p.grp = g.id and p.due >= due_from and p.due <= (select clock_timestamp()))
    or exists (select from "elysia_microservices".queued as q where q.grp = g.id and q.position >= g.queued)
    or exists (select from "elysia_microservices".late as l where l.number > g.late)
    or case when g.matcher is null
      then (select last from "elysia_microservices".pattern where name = g.pattern order by name desc, total desc limit 1)
      else (select max(horizon) from "elysia_microservices".whole) end > g.cursor)
  from "elysia_microservices".standing as g where g.id = group_id);
end
$$;
create function "elysia_microservices".figures(ids json) returns json language sql stable as $$
  select json_agg(json_build_object('id', g.id, 'paused', g.paused, 'lag',
    "elysia_microservices".total_of(g.pattern, g.matcher) - g.taken
    + (select count(*) from "elysia_microservices".pending as p where p.grp = g.id)
    + (select count(*) from "elysia_microservices".queued as q where q.grp = g.id and q.position >= g.queued)
    + coalesce((select sum(array_length(positions, 1)) from "elysia_microservices".batch as b
        where b.grp = g.id and b.id >= g.batches), 0)))
  from "elysia_microservices".standing as g where g.id in (select value::integer from json_array_elements_text(ids))
$$;
create function "elysia_microservices".take_events(
  group_id integer, most integer, back integer, most_bytes bigint, owner text, with_claims boolean, due_from timestamptz
) returns json language plpgsql as $$
#variable_conflict use_column
declare
  g "elysia_microservices".grp;
  s "elysia_microservices".progress;
  h bigint;
  oldest bigint;
  first bigint;
  one record;
  room integer := most;
  bytes bigint := most_bytes;
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
  passing integer := 0;
  most_rows integer;
begin
  select * into g from "elysia_microservices".grp where id = group_id for update;
  if not found or g.paused or most <= 0 then return null; end if;
  select * into s from "elysia_microservices".progress where grp = g.id order by version desc limit 1;
  select max(horizon) into h from "elysia_microservices".whole;
  select min(b.id), coalesce(array_agg(k) filter (where k is not null), '{}') into oldest, busy
    from "elysia_microservices".batch as b
    left join lateral unnest(case when g.ordered and b.process <> owner then b.keys end) as k on true
    where b.grp = g.id and b.id >= s.batches;
  for one in
    select p.position, p.letter, p.attempt, p.key, p.is_queued, coalesce(case when p.letter = 0
        then (select octet_length(body) from "elysia_microservices".event where position = p.position)
        else (select octet_length(body) from "elysia_microservices".letter where place = p.letter) end, 0) as size
      from (
        (select position, letter, attempt, key, due, false as is_queued from "elysia_microservices".pending
          where grp = g.id and due >= due_from and due <= (select clock_timestamp()) and (key is null or key <> all (busy))
          order by due, position, letter limit least(most, back))
        union all
        (select position, 0, 0, key, '-infinity', true from "elysia_microservices".queued
          where g.ordered and grp = g.id and position >= s.queued and key <> all (busy)
          order by position limit least(most, back))
      ) as p
      order by p.due, p.position, p.letter limit least(most, back)
  loop
    exit when bytes <= 0;
    if one.is_queued then
      delete from "elysia_microservices".queued where grp = g.id and position = one.position;
    else
      delete from "elysia_microservices".pending
        where grp = g.id and position = one.position and letter = one.letter;
    end if;
    bytes := bytes - one.size;
    positions := positions || one.position;
    letters := letters || one.letter;
    attempts := attempts || one.attempt;
    keys := array_append(keys, one.key);
  end loop;
  if cardinality(positions) > 0 then room := least(most, back) - cardinality(positions); end if;
  if g.ordered then
    select coalesce(array_agg(distinct key), '{}') || busy, count(*) into busy, waiting from (
      select key from "elysia_microservices".pending where grp = g.id and key is not null
      union all
      select key from "elysia_microservices".queued where grp = g.id and position >= s.queued
    ) as p;
  end if;
  select max(l.number) into latest from "elysia_microservices".late as l;
  for one in
    select * from (
      (select l.number, e.position, e.key, octet_length(e.body) as size from "elysia_microservices".late as l
        join "elysia_microservices".event as e on e.position = l.position
        where l.number > s.late and l.number <= latest and l.position <= s.cursor
          and case when g.matcher is null then e.pattern = g.pattern else e.pattern ~ g.matcher end
        order by l.number limit most + 64)
    ) as lates
  loop
    lates := lates + 1;
    if room <= 0 or bytes <= 0 or waiting >= 2000 then
      lates := most + 64;
      exit;
    end if;
    number := one.number;
    passing := passing + 1;
    if one.key is not null and one.key = any (busy) then
      insert into "elysia_microservices".queued (grp, position, key) values (g.id, one.position, one.key);
      s.queued := least(s.queued, one.position);
      waiting := waiting + 1;
      continue;
    end if;
    room := room - 1;
    bytes := bytes - one.size;
    positions := positions || one.position;
    letters := letters || 0::bigint;
    attempts := attempts || 0;
    keys := array_append(keys, one.key);
  end loop;
  if lates < most + 64 then number := latest; end if;
  if room > 0 and bytes > 0 and waiting < 2000 and lates < most + 64 then
    most_rows := room + case when g.ordered then 64 else 0 end;
    with log as (
      (select position, key, body from "elysia_microservices".event
        where g.matcher is null and pattern = g.pattern and position > s.cursor and position <= h
        order by position limit most_rows)
      union all
      (select position, key, body from "elysia_microservices".event
        where g.matcher is not null and pattern ~ g.matcher and position > s.cursor and position <= h
        order by position limit most_rows)
    ), numbered as (
      select position, key, is_busy, count(*) filter (where not is_busy) over before as taken_before,
        count(*) filter (where is_busy) over before as busy_before,
        coalesce(sum(size) filter (where not is_busy) over before, 0) as bytes_before
      from (
        select e.position, e.key, octet_length(e.body) as size,
          g.ordered and e.key is not null and e.key = any (busy) as is_busy
        from log as e
        where not exists (select from "elysia_microservices".hole where hole.position = e.position)
          and not exists (select from "elysia_microservices".late as l
            where l.position = e.position and l.number > coalesce(latest, 0))
      ) as e
      window before as (order by position rows between unbounded preceding and 1 preceding)
    ), fit as (
      select * from numbered where taken_before < room and bytes_before < bytes and waiting + busy_before < 2000
    ), put as (
      insert into "elysia_microservices".queued (grp, position, key) select g.id, position, key from fit where is_busy
    )
    select (select count(*) from log) as seen, (select max(position) from log) as last,
        (select count(*) from numbered) as known, count(*) as count, max(position) as passed,
        array_agg(position order by position) filter (where not is_busy) as positions,
        array_agg(key order by position) filter (where not is_busy) as keys
      into one from fit;
    passing := passing + one.count;
    passed := case
      when one.count < one.known then one.passed
      when one.seen < most_rows then h
      else one.last end;
    positions := positions || one.positions;
    keys := keys || one.keys;
    letters := letters || array_fill(0::bigint, array[coalesce(cardinality(one.positions), 0)]);
    attempts := attempts || array_fill(0, array[coalesce(cardinality(one.positions), 0)]);
  end if;
  if cardinality(positions) > 0 then
    insert into "elysia_microservices".batch (grp, process, positions, letters, attempts, keys, claimed)
      values (g.id, owner, positions, letters, case when g.ordered then "elysia_microservices".begun(attempts, keys)
        else array(select a + 1 from unnest(attempts) as a) end, keys, with_claims) returning id into batch_id;
    if with_claims then
      insert into "elysia_microservices".claim (batch, position, letter)
        select batch_id, p, l from unnest(positions, letters) as u (p, l);
    end if;
  end if;
  if g.ordered then
    first := coalesce((select min(position) from "elysia_microservices".queued where grp = g.id and position >= s.queued),
      greatest(s.cursor, passed) + 1);
  end if;
  if passing > 0 or passed > s.cursor or number > s.late or first <> s.queued then
    update "elysia_microservices".progress set version = version + 1, cursor = greatest(cursor, passed),
        late = greatest(late, number), taken = taken + passing, batches = coalesce(oldest, batch_id, batches),
        queued = coalesce(first, queued)
      where grp = g.id and version = s.version;
  end if;
  if batch_id is null then return null; end if;
  return "elysia_microservices".show_events(g.id, batch_id, positions, letters, attempts);
end
$$;
create function "elysia_microservices".begun(attempts integer[], keys text[]) returns integer[] language sql immutable as $$
  select array_agg(case when k is not null and nth > 1 then a else a + 1 end order by n) from (
    select a, k, n, row_number() over (partition by k order by n) as nth
    from unnest(attempts, keys) with ordinality as u (a, k, n)
  ) as numbered
$$;
create function "elysia_microservices".show_events(
  group_id integer, batch_id bigint, positions bigint[], letters bigint[], attempts integer[]
) returns json language plpgsql stable as $$
#variable_conflict use_column
begin
  return (select json_build_object('group', group_id, 'batch', batch_id::text, 'position', array_agg(position::text),
    'letter', array_agg(letter::text), 'attempt', array_agg(attempt + 1),
    'published', array_agg(date_part('epoch', published) * 1000), 'pattern', array_agg(pattern), 'id', array_agg(id),
    'key', array_agg(key), 'headers', array_agg(headers), 'body', array_agg(body))
  from (
    select u.position, u.letter, u.attempt, e.published, e.pattern, e.id, e.key, e.headers, e.body
    from unnest(positions, letters, attempts) with ordinality as u (position, letter, attempt, n)
    left join lateral (
      select published, pattern, id, key, headers, body from "elysia_microservices".event
        where u.letter = 0 and position = u.position
      union all
      select published, pattern, id, key, headers, body from "elysia_microservices".letter
        where u.letter <> 0 and place = u.letter
    ) as e on true
    where u.letter = 0 or e.body is not null
    order by u.n
  ) as shown);
end
$$;
create function "elysia_microservices".settle_events(owner text, settled json) returns setof text language plpgsql as $$
declare
  one json;
  b "elysia_microservices".batch;
begin
  for one in select * from json_array_elements(settled) loop
    select * into b from "elysia_microservices".batch
      where id = (one ->> 'batch')::bigint and process = owner for update;
    if not found then
      return next one ->> 'batch';
      continue;
    end if;
    if b.claimed then one := "elysia_microservices".by_claims(b, one); end if;
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
      select b.grp, e.position, e.pattern, to_timestamp(e.published / 1000), e.id, e.key, e.headers, e.body,
        e.reason, e.attempt
      from json_to_recordset(one -> 'dead') as e (position bigint, pattern text, published double precision, id text,
        key text, headers text, body text, reason text, attempt integer)
      where e.position = any (b.positions);
    insert into "elysia_microservices".pending (grp, position, letter, attempt, due, key)
      select b.grp, e.position, e.letter, e.attempt,
        case when e.delay > 0 then clock_timestamp() + e.delay * interval '1 millisecond'
          else "elysia_microservices".due_now(b.grp) end, e.lock
      from json_to_recordset(one -> 'back') as e (position bigint, letter bigint, attempt integer,
        delay double precision, lock text)
      where e.position = any (b.positions)
      on conflict do nothing;
    delete from "elysia_microservices".letter
      where place in (select value::bigint from json_array_elements_text(one -> 'over')) and pending;
  end loop;
end
$$;
create function "elysia_microservices".by_claims(b "elysia_microservices".batch, one json) returns json
language plpgsql as $$
declare
  kept text[] := array(select concat(e ->> 'position', ' ', e ->> 'letter') from json_array_elements(one -> 'left') as e);
  free text[];
  busy text[];
begin
  if not exists (select from "elysia_microservices".claim
    where batch = b.id and concat(position, ' ', letter) <> all (kept))
  then
    return json_build_object('batch', one -> 'batch', 'left', one -> 'left', 'back', '[]'::json, 'dead', '[]'::json,
      'over', '[]'::json);
  end if;
  free := array(select concat(position, ' ', letter) from "elysia_microservices".claim
    where batch = b.id and concat(position, ' ', letter) <> all (kept) for update skip locked);
  busy := array(select concat(position, ' ', letter) from "elysia_microservices".claim
    where batch = b.id and concat(position, ' ', letter) <> all (kept || free));
  delete from "elysia_microservices".claim where batch = b.id and concat(position, ' ', letter) = any (free);
  return (
    with held as (
      select concat(p, ' ', l) as name, l as letter, json_build_object('position', p::text, 'letter', l::text,
        'attempt', a, 'lock', k, 'delay', 0) as event
      from unnest(b.positions, b.letters, b.attempts, b.keys) as u (p, l, a, k)
    ), said as (
      select concat(e ->> 'position', ' ', e ->> 'letter') as name, kind, e as event
      from unnest(array['left', 'back', 'dead', 'discarded']) as kind, json_array_elements(one -> kind) as e
    ), decided as (
      select kind, event from said where kind = 'left' or name = any (free)
      union all
      select 'left', event from held where name = any (busy)
      union all
      select 'back', event from held where name = any (free) and name not in (select name from said)
    )
    select json_build_object('batch', one -> 'batch',
      'left', coalesce(json_agg(event) filter (where kind = 'left'), '[]'),
      'back', coalesce(json_agg(event) filter (where kind = 'back'), '[]'),
      'dead', coalesce(json_agg(event) filter (where kind = 'dead'), '[]'),
      'over', coalesce(json_agg(event ->> 'letter') filter (where kind in ('dead', 'discarded')), '[]'))
    from decided
  );
end
$$;
create function "elysia_microservices".due_now(group_id integer) returns timestamptz language sql volatile as $$
  select coalesce((select clock_timestamp() from "elysia_microservices".grp as g where g.id = group_id and not g.ordered),
    '-infinity')
$$;
create function "elysia_microservices".acknowledge(batch_id bigint, at bigint, letter_place bigint) returns void
language plpgsql as $$
begin
  delete from "elysia_microservices".claim where batch = batch_id and position = at and letter = letter_place;
  if not found then
    raise exception 'The event is acknowledged already, or another process has it' using errcode = 'EM001';
  end if;
  if letter_place <> 0 then
    delete from "elysia_microservices".letter where place = letter_place;
  end if;
end
$$;
create function "elysia_microservices".free_batches(ids bigint[], have_begun boolean) returns void
language plpgsql as $$
declare
  b "elysia_microservices".batch;
begin
  for b in select * from "elysia_microservices".batch where id = any (ids) order by id for update loop
    if b.claimed then
      perform "elysia_microservices".settle_events(b.process, json_build_array(json_build_object('batch', b.id::text,
        'left', '[]'::json, 'back', '[]'::json, 'dead', '[]'::json, 'over', '[]'::json, 'discarded', '[]'::json)));
      continue;
    end if;
    with gone as (delete from "elysia_microservices".batch where id = b.id returning *)
    insert into "elysia_microservices".pending (grp, position, letter, attempt, due, key)
      select gone.grp, u.position, u.letter,
        u.attempt - case when have_begun or (grp.ordered and u.key is not null and u.nth > 1) then 0 else 1 end,
        "elysia_microservices".due_now(gone.grp), u.key
      from gone join "elysia_microservices".grp on grp.id = gone.grp, lateral (
        select p as position, l as letter, a as attempt, k as key, row_number() over (partition by k order by n) as nth
        from unnest(positions, letters, attempts, keys) with ordinality as u (p, l, a, k, n)
      ) as u
      on conflict do nothing;
  end loop;
end
$$;
create function "elysia_microservices".turn(
  owner text, lease integer, settled json, known json, wanted json, will_sleep boolean, grace integer, looks json
) returns json language plpgsql set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
  set jit = off as $$
declare
  is_behind boolean;
  has_fired boolean;
  gone text[];
  lost json;
  taken json;
  dead text;
  next timestamptz;
  bounds json := case json_typeof(looks) when 'object' then looks else '{}'::json end;
  heard bigint := case json_typeof(looks) when 'array' then 0 else greatest((bounds ->> 'batch')::bigint, 0,
    (select max(k) from (
      select value::bigint as k from json_array_elements_text(known)
      union all select (value ->> 'batch')::bigint from json_array_elements(settled)) as b)) end;
  most_bytes bigint := 16 * 1024 * 1024 / greatest(1, json_array_length(wanted));
begin
  is_behind := "elysia_microservices".advance();
  has_fired := "elysia_microservices".fire(500, "elysia_microservices".bound_in(bounds, 'later'));
  insert into "elysia_microservices".process as p (id, seen, asleep)
    values (owner, clock_timestamp() + grace * interval '1 millisecond', will_sleep)
    on conflict (id) do update set seen = greatest(p.seen, excluded.seen), asleep = excluded.asleep
    where p.seen < excluded.seen - lease * interval '0.25 millisecond' or p.asleep < excluded.asleep
      or (p.asleep > excluded.asleep and p.seen < excluded.seen - interval '1 second');
  for dead in
    select id from "elysia_microservices".process
      where seen < clock_timestamp() - lease * interval '1 millisecond' for update skip locked
  loop
    perform "elysia_microservices".free_batches(
      array(select id from "elysia_microservices".batch where process = dead), true);
    delete from "elysia_microservices".process where id = dead
      and not exists (select from "elysia_microservices".batch where process = dead);
  end loop;
  gone := array(select k from json_array_elements_text(known) as k
    where not exists (select from "elysia_microservices".batch where id = k::bigint and process = owner));
  select json_agg(batch) into lost from (
    select unnest(gone) union select * from "elysia_microservices".settle_events(owner, settled)) as l (batch);
  perform "elysia_microservices".free_batches(array(select id from "elysia_microservices".batch where process = owner
    and id > heard and id <> all (array(select value::bigint from json_array_elements_text(known)))), false);
  select json_agg(batch) into taken
    from json_to_recordset(wanted) as w (id integer, most integer, back integer, claims boolean),
      lateral "elysia_microservices".take_events(w.id, w.most, w.back, most_bytes, owner, w.claims is true,
        "elysia_microservices".bound_in(bounds, w.id::text)) as batch
    where "elysia_microservices".has_more(w.id, "elysia_microservices".bound_in(bounds, w.id::text))
      and batch is not null;
  if is_behind or has_fired then
    next := clock_timestamp();
  elsif will_sleep then
    select least((select min(due) from "elysia_microservices".later where due > (select clock_timestamp())), (
      select min(due) from json_to_recordset(wanted) as w (id integer), lateral (
        select due from "elysia_microservices".pending as p where p.grp = w.id and p.due > (select clock_timestamp())
          order by due limit 1) as d)) into next;
  end if;
  return json_build_object('lost', coalesce(lost, '[]'), 'taken', coalesce(taken, '[]'),
    'next', ceil(extract(epoch from next - clock_timestamp()) * 1000),
    'bounds', case json_typeof(looks) when 'array' then "elysia_microservices".bounds_of(looks) end);
end
$$;
create function "elysia_microservices".bounds_of(ids json) returns json language plpgsql set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
  set jit = off as $$
begin
  return (select json_object_agg(name, floor(extract(epoch from least(first, clock_timestamp() - interval '2 seconds')) * 1000))
  from (
    select 'later' as name, (select min(due) from "elysia_microservices".later) as first
    union all
    select g.id::text, (select p.due from "elysia_microservices".pending as p where p.grp = g.id order by p.due limit 1)
      from json_array_elements_text(ids) as i (id) join "elysia_microservices".grp as g on g.id = i.id::integer
      where not g.ordered
  ) as found);
end
$$;
create function "elysia_microservices".bound_in(bounds json, name text) returns timestamptz language sql immutable as $$
  select coalesce(to_timestamp((bounds ->> name)::double precision / 1000), '-infinity')
$$;
create function "elysia_microservices".leave(owner text) returns void language plpgsql as $$
begin
  update "elysia_microservices".process set seen = '-infinity', asleep = false where id = owner;
  perform "elysia_microservices".wake_handlers();
end
$$;
