/** Counts that are kept instead of being counted: events that come back, and bytes that are stored. */
import { PINNED } from './pinned.ts'

export const COUNTING = `
-- Counts events that come back to a group. Each process has a row of its own, so that none waits for another one; the
-- row without a process is changed by those who have locked the group.
create or replace function "elysia_microservices".count_pending(group_id integer, counter text, change bigint) returns void
language plpgsql as $$
begin
  if change = 0 then return; end if;
  update "elysia_microservices".tally set version = version + 1, pending = pending + change
    where grp = group_id and process = counter and version = (select version from "elysia_microservices".tally
      where grp = group_id and process = counter order by version desc limit 1);
  if not found then
    insert into "elysia_microservices".tally (grp, process, version, pending) values (group_id, counter, 0, change);
  end if;
end
$$;

create or replace function "elysia_microservices".pending_of(group_id integer) returns bigint language sql stable as $$
  select coalesce(sum(t.pending), 0)::bigint
  from (select id from "elysia_microservices".process union all select '') as p, lateral (
    select pending from "elysia_microservices".tally where grp = group_id and process = p.id
      order by version desc limit 1) as t
$$;

-- A process that has ended: what it counted counts on for another one.
create or replace function "elysia_microservices".inherit_pending(dead text, heir text) returns void language plpgsql as $$
declare
  one record;
begin
  for one in delete from "elysia_microservices".tally where process = dead returning grp, pending loop
    perform "elysia_microservices".count_pending(one.grp, heir, one.pending);
  end loop;
end
$$;

-- If nothing comes back to a group, its count is 0: rows may have been written by an older version of this package, or
-- deleted by hand. The group must be locked.
create or replace function "elysia_microservices".correct_pending(group_id integer, counter text) returns void
language plpgsql as $$
declare
  wrong bigint := (select "elysia_microservices".pending_of(group_id)
    where not exists (select from "elysia_microservices".pending where grp = group_id));
begin
  perform "elysia_microservices".count_pending(group_id, counter, -coalesce(wrong, 0));
end
$$;

-- The bytes of the events up to the horizon that are not deleted.
create or replace function "elysia_microservices".kept_bytes() returns bigint language plpgsql stable ${PINNED} as $$
begin
  return (select bytes from "elysia_microservices".stored order by bytes desc limit 1)
    - (select bytes from "elysia_microservices".deleted order by bytes desc limit 1);
end
$$;

-- Counts events that have come into the log, or left it.
create or replace function "elysia_microservices".count_stored(change bigint) returns void language plpgsql as $$
begin
  update "elysia_microservices".stored set bytes = bytes + change
    where change > 0 and bytes = (select bytes from "elysia_microservices".stored order by bytes desc limit 1);
end
$$;
create or replace function "elysia_microservices".count_deleted(change bigint) returns void language plpgsql as $$
begin
  update "elysia_microservices".deleted set bytes = bytes + change
    where change > 0 and bytes = (select bytes from "elysia_microservices".deleted order by bytes desc limit 1);
end
$$;

create or replace function "elysia_microservices".size_of(headers text, body text) returns bigint
language sql immutable as $$
  select octet_length(body)::bigint + coalesce(octet_length(headers), 0)
$$;
`
