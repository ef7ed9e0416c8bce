/** Storing events, at once or when they are due, and deleting old ones. */
export const STORING = `
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
  began timestamptz;
begin
  -- Transactions that publish the same key wait here for one another until they end, so that positions of one key are in
  -- the order of commits. The locks are taken in one order by all.
  perform pg_advisory_xact_lock(lock) from (
    select distinct hashtextextended('elysia_microservices.event ' || (e ->> 'key'), 0) as lock
    from json_array_elements(events) as e where e ->> 'key' is not null order by 1
  ) as locks;
  -- The transaction has its number before the first event has its position: see advance().
  perform pg_current_xact_id();
  began := clock_timestamp();
  for one in
    select n, e ->> 'pattern' as pattern, e ->> 'id' as id, e ->> 'key' as key, e ->> 'headers' as headers,
      e ->> 'body' as body,
      -- The clock here decides, because those of publishers differ. JavaScript has no later time than the last one.
      case when e ->> 'delay' is null then to_timestamp((e ->> 'due')::double precision / 1000) else
        least(clock_timestamp() + (e ->> 'delay')::double precision * interval '1 millisecond', to_timestamp(8.64e12))
      end as due
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
    elsif one.due > began then
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
