/** The turns of a process. */
import { PINNED } from './pinned.ts'

export const TURNING = `
-- One turn of a process: what is settled is written, and events are taken for the handlers that have room. 'known' are
-- the batches of which the process knows. The sign of life holds 'grace' milliseconds longer than 'lease', in a process whose
-- turns take long. 'looks': where to look for events that are due. With a list of groups, all that waits is looked at, and
-- the answer has 'bounds': times below which nothing was left for these groups. With bounds, only what is due since them is
-- looked at, which costs no more for what was deleted below. What appears below a bound, as its transaction lasted long or
-- the clock was set, waits for the next look at all, as do batches up to the number 'batch' in the bounds. 'until' in the answer:
-- the groups behind this one were not asked, because there was no room for their events.
create or replace function "elysia_microservices".turn(
  owner text, lease integer, settled json, known json, wanted json, will_sleep boolean, grace integer, looks json
) returns json language plpgsql ${PINNED} as $$
declare
  is_behind boolean;
  has_fired boolean;
  gone text[];
  lost json;
  one record;
  events json;
  taken json[] := '{}';
  until integer;
  dead text;
  next timestamptz;
  bounds json := case json_typeof(looks) when 'object' then looks else '{}'::json end;
  -- What the process has not heard of has nearly always a higher number than what it knows, unless the turn that has taken
  -- it was late, so all are looked for now and then.
  heard bigint := case json_typeof(looks) when 'array' then 0 else greatest((bounds ->> 'batch')::bigint, 0,
    (select max(k) from (
      select value::bigint as k from json_array_elements_text(known)
      union all select (value ->> 'batch')::bigint from json_array_elements(settled)) as b)) end;
  -- One answer has at most these bytes of events, and one event more: each handler gets its part, and one event at least,
  -- until there is no room left.
  room bigint := 16 * 1024 * 1024;
  part bigint := room / greatest(1, json_array_length(wanted));
begin
  is_behind := "elysia_microservices".advance();
  has_fired := "elysia_microservices".fire(500, "elysia_microservices".bound_in(bounds, 'later'));
  if json_typeof(looks) = 'array' then perform "elysia_microservices".look_back(lease); end if;
  perform "elysia_microservices".live(owner, lease, will_sleep, grace);
  for dead in
    select p.id from "elysia_microservices".process as p left join "elysia_microservices".lease as l on l.process = p.id
      where p.seen < clock_timestamp() - coalesce(l.milliseconds, lease) * interval '1 millisecond' for update of p skip locked
  loop
    perform "elysia_microservices".free_batches(
      array(select id from "elysia_microservices".batch where process = dead), true, owner);
    delete from "elysia_microservices".process where id = dead
      and not exists (select from "elysia_microservices".batch where process = dead);
    if found then
      delete from "elysia_microservices".lease where process = dead;
      perform "elysia_microservices".inherit_pending(dead, owner);
    end if;
  end loop;
  -- Also those of which nothing is settled: this sign of life must not renew what others have by now.
  gone := array(select k from json_array_elements_text(known) as k
    where not exists (select from "elysia_microservices".batch where id = k::bigint and process = owner));
  select json_agg(batch) into lost from (
    select unnest(gone) union select * from "elysia_microservices".settle_events(owner, settled, owner)) as l (batch);
  -- A turn whose answer was lost has taken these: they have not begun.
  perform "elysia_microservices".free_batches(array(select id from "elysia_microservices".batch where process = owner
    and id > heard and id <> all (array(select value::bigint from json_array_elements_text(known)))), false, owner);
  for one in
    select w.* from json_to_recordset(wanted) as w (id integer, most integer, back integer, claims boolean)
      where "elysia_microservices".has_more(w.id, "elysia_microservices".bound_in(bounds, w.id::text))
  loop
    events := "elysia_microservices".take_events(one.id, one.most, one.back, part, owner, one.claims is true,
      "elysia_microservices".bound_in(bounds, one.id::text));
    continue when events is null;
    taken := array_append(taken, events);
    room := room - octet_length(events::text);
    if room <= 0 then
      until := one.id;
      exit;
    end if;
  end loop;
  if is_behind or has_fired then
    -- Events that were just published, or behind more holes than one turn looks at, as thousands of duplicates leave them.
    next := clock_timestamp();
  elsif will_sleep then
    -- An event of the future that is due already waits for the transaction that publishes its key.
    select least((select min(due) from "elysia_microservices".later where due > (select clock_timestamp())), (
      select min(due) from json_to_recordset(wanted) as w (id integer), lateral (
        select due from "elysia_microservices".pending as p where p.grp = w.id and p.due > (select clock_timestamp())
          order by due limit 1) as d)) into next;
  end if;
  return json_build_object('lost', coalesce(lost, '[]'), 'taken', array_to_json(taken), 'until', until,
    'next', ceil(extract(epoch from next - clock_timestamp()) * 1000),
    'bounds', case json_typeof(looks) when 'array' then "elysia_microservices".bounds_of(looks) end);
end
$$;

-- A sign of life of a process.
create or replace function "elysia_microservices".live(owner text, lease integer, will_sleep boolean, grace integer) returns void
language plpgsql as $$
declare
  silence interval := lease * interval '1 millisecond';
begin
  -- This process lives, and its own last sign of life is too old: the clock was set forward, or the server was away. So the
  -- signs of the others say nothing, and each gets its time once more. Those that are locked have a turn just now.
  if exists (select from "elysia_microservices".process where id = owner and seen < clock_timestamp() - silence) then
    update "elysia_microservices".process set seen = clock_timestamp() where id in (
      select id from "elysia_microservices".process
        where id <> owner and seen < clock_timestamp() and seen > '-infinity' for update skip locked);
  end if;
  insert into "elysia_microservices".process as p (id, seen, asleep)
    values (owner, clock_timestamp() + grace * interval '1 millisecond', will_sleep)
    on conflict (id) do update set seen = greatest(p.seen, excluded.seen), asleep = excluded.asleep
    where p.seen < excluded.seen - 0.25 * silence or p.asleep < excluded.asleep
      -- One that sleeps for moments is told of events all the time: each change would leave an old version of the row.
      or (p.asleep > excluded.asleep and p.seen < excluded.seen - interval '1 second');
  if found then
    insert into "elysia_microservices".lease values (owner, lease) on conflict do nothing;
  end if;
end
$$;

-- A sign of life from the future: the clock was set back. Events that pause would wait as much longer, and the events of a
-- process that has ended, too. A sign of life holds at most ten times as long as the lease. Events of the future keep
-- their times: these are of the clock.
create or replace function "elysia_microservices".look_back(lease integer) returns void language plpgsql as $$
declare
  back interval;
begin
  for attempt in 1 .. 2 loop
    select max(p.seen) - clock_timestamp() into back
      from "elysia_microservices".process as p left join "elysia_microservices".lease as l on l.process = p.id
      where p.seen > clock_timestamp() + coalesce(l.milliseconds, lease) * interval '11 milliseconds';
    exit when back is null or attempt = 2;
    -- One process does it. It looks once more then, because another one may have done it.
    if not pg_try_advisory_xact_lock(hashtextextended('elysia_microservices.look_back', 0)) then return; end if;
  end loop;
  if back is null then return; end if;
  update "elysia_microservices".process set seen = clock_timestamp() where seen > clock_timestamp();
  update "elysia_microservices".pending set due = due - back where due > clock_timestamp();
end
$$;

-- The times below which nothing is left, in milliseconds since 1970: of the events of the future, and of what comes back to
-- groups. Transactions that have ended within two seconds may bring something that was due meanwhile.
create or replace function "elysia_microservices".bounds_of(ids json) returns json language plpgsql ${PINNED} as $$
begin
  return (select json_object_agg(name, floor(extract(epoch from least(first, clock_timestamp() - interval '2 seconds')) * 1000))
  from (
    select 'later' as name, (select min(due) from "elysia_microservices".later) as first
    union all
    select g.id::text, (select p.due from "elysia_microservices".pending as p where p.grp = g.id order by p.due limit 1)
      from json_array_elements_text(ids) as i (id) join "elysia_microservices".grp as g on g.id = i.id::integer
  ) as found);
end
$$;

create or replace function "elysia_microservices".bound_in(bounds json, name text) returns timestamptz language sql immutable as $$
  select coalesce(to_timestamp((bounds ->> name)::double precision / 1000), '-infinity')
$$;

-- A process has ended: what it had is taken by others.
create or replace function "elysia_microservices".leave(owner text) returns void language plpgsql as $$
begin
  update "elysia_microservices".process set seen = '-infinity', asleep = false where id = owner;
  perform "elysia_microservices".wake_handlers();
end
$$;
`
