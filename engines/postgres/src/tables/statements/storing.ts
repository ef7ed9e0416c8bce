/** Storing events, at once or when they are due. */
export const STORING = `
-- Wakes processes, if one sleeps: commits that notify wait for one another.
create or replace function "elysia_microservices".wake_handlers() returns void language plpgsql as $$
begin
  if exists (select from "elysia_microservices".process where asleep) then
    perform pg_notify('elysia_microservices_events', '');
  end if;
end
$$;

-- The lock of a key, which a transaction that publishes the key has until it ends.
create or replace function "elysia_microservices".lock_of(key text) returns bigint language sql immutable as $$
  select hashtextextended('elysia_microservices.event ' || key, 0)
$$;

-- Stores events in the caller's transaction, in their order. Transactions that publish the same key wait here for one
-- another until they end, so that positions of one key are in the order of commits; who does not wait is told which events
-- are not stored because of that. With 'most_bytes', the log keeps no more; an event for which it has no room, and all
-- behind it, are not stored: their place is 'full', and how many bytes are kept.
create or replace function "elysia_microservices".store_events(
  events json, duplicate_window integer, waits boolean, most_bytes bigint default 0
) returns table (number integer, place text, is_duplicate boolean, is_held boolean) language plpgsql as $$
#variable_conflict use_column
declare
  one record;
  stored text;
  held text[] := '{}';
  kept bigint := case when most_bytes > 0 then "elysia_microservices".kept_bytes() end;
begin
  if waits then
    -- The locks are taken in one order by all.
    perform pg_advisory_xact_lock(lock) from (
      select distinct "elysia_microservices".lock_of(key) as lock
      from json_to_recordset(events) as e (key text) where key is not null order by 1
    ) as locks;
  else
    held := array(
      select key from (select distinct key from json_to_recordset(events) as e (key text) where key is not null offset 0) as k
        where not pg_try_advisory_xact_lock("elysia_microservices".lock_of(key)));
  end if;
  -- The transaction has its number before the first event has its position: see advance().
  perform pg_current_xact_id();
  for one in
    select n, e.pattern, e.id, e.key, e.headers, e.body, "elysia_microservices".size_of(e.headers, e.body) as size,
      -- The clock here decides, because those of publishers differ. JavaScript has no later time than the last one.
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
    if most_bytes > 0 and not "elysia_microservices".is_known(one.pattern, one.id, duplicate_window) then
      if kept + one.size > most_bytes then
        place := concat('full ', kept);
        most_bytes := 1;
        return next;
        continue;
      end if;
      kept := kept + one.size;
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

-- Whether an event waits for its time, or was published within the window of duplicates.
create or replace function "elysia_microservices".is_known(of_pattern text, of_id text, duplicate_window integer)
returns boolean language plpgsql stable as $$
begin
  return exists (select from "elysia_microservices".later as l where l.pattern = of_pattern and l.id = of_id)
    or exists (select from "elysia_microservices".recent as r where r.pattern = of_pattern and r.id = of_id
      and r.published > clock_timestamp() - duplicate_window * interval '1 millisecond');
end
$$;

-- Stores one event in the caller's transaction. Default of 'due': at once. Returns its position, or nothing while it waits
-- for its time, and a sign behind that of a duplicate: one text, because a function with several columns takes longer to
-- plan than to run.
create or replace function "elysia_microservices".store_event(of_pattern text, of_id text, key text, headers text, body text,
  due timestamptz, duplicate_window integer, wakes boolean) returns text language plpgsql as $$
declare
  at bigint;
  is_future boolean := coalesce(due > clock_timestamp(), false);
  -- An expression costs less than a statement.
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
    -- A publisher has no right to read the log.
    select position into at from known;
    if at is not null then
      if wakes and exists (select from "elysia_microservices".process where asleep) then
        perform pg_notify('elysia_microservices_events', '');
      end if;
      return at::text;
    end if;
  end if;
  -- It waits for its time, or was published; another transaction may have been first, and committed meanwhile.
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

-- Publishes events of the future whose time has come. Returns whether there were any. A turn waits for nobody's
-- transaction: events whose key one is just publishing stay until it has ended. Below 'due_from' nothing is due.
create or replace function "elysia_microservices".fire(most integer, due_from timestamptz) returns boolean language plpgsql as $$
declare
  these "elysia_microservices".later[];
  busy text[] := '{}';
  met text[];
begin
  if not exists (select from "elysia_microservices".later where due >= due_from and due <= (select clock_timestamp())) then
    return false;
  end if;
  -- One process at a time, or a later event of a key could be published before an earlier one that another has.
  if not pg_try_advisory_xact_lock(hashtextextended('elysia_microservices.fire', 0)) then return false; end if;
  loop
    -- Without what they carry: hundreds of large events are more than PostgreSQL has in one value.
    these := array(select row(pattern, id, due, key, null, '')::"elysia_microservices".later from "elysia_microservices".later
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

-- Publishes these events, of which only pattern, id and key are read. Once it has published 16 MB, it leaves the others.
create or replace function "elysia_microservices".fire_these(these "elysia_microservices".later[]) returns void
language plpgsql as $$
declare
  one "elysia_microservices".later;
  at bigint;
  bytes bigint := 0;
begin
  perform pg_current_xact_id();
  foreach one in array these loop
    exit when bytes >= 16 * 1024 * 1024;
    if one.key is not null then
      perform pg_advisory_xact_lock("elysia_microservices".lock_of(one.key));
    end if;
    delete from "elysia_microservices".later where pattern = one.pattern and id = one.id returning * into one;
    at := nextval('"elysia_microservices".event_position');
    insert into "elysia_microservices".event (position, pattern, id, key, headers, body)
      values (at, one.pattern, one.id, one.key, one.headers, one.body);
    insert into "elysia_microservices".recent (pattern, id, position, published)
      values (one.pattern, one.id, at, clock_timestamp())
      on conflict (pattern, id) do update set position = excluded.position, published = excluded.published;
    bytes := bytes + "elysia_microservices".size_of(one.headers, one.body);
  end loop;
end
$$;
`
