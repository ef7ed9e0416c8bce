/** The groups of handlers: made, and their figures. */
import { PINNED } from './pinned.ts'

export const GROUPS = `
-- The group of a handler, which is created if it is missing. 'since' and 'after' are null unless the start says so.
create or replace function "elysia_microservices".join_group(
  group_name text, group_pattern text, group_matcher text, is_ordered boolean, start text, since timestamptz, after bigint
) returns table (id integer, ordered boolean, skipped bigint) language plpgsql as $$
#variable_conflict use_column
declare
  h bigint;
  at bigint;
  count_skipped bigint := 0;
begin
  if not exists (select from "elysia_microservices".grp where name = group_name and pattern = group_pattern) then
    -- The horizon stands still, so that totals and cursor fit together.
    perform pg_advisory_xact_lock(hashtextextended('elysia_microservices.advance', 0));
    select max(horizon) into h from "elysia_microservices".whole;
    -- Behind the horizon may be events that nobody has counted.
    at := least(h, case start
      -- What is published from now on has a higher position.
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

-- The events of a pattern up to the horizon, with those that are deleted.
create or replace function "elysia_microservices".total_of(of_pattern text, matcher text) returns bigint language plpgsql stable as $$
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

-- Whether there may be events for a group. 'due_from': below it nothing is due.
create or replace function "elysia_microservices".has_more(group_id integer, due_from timestamptz) returns boolean
language plpgsql stable as $$
begin
  return (select not g.paused and (
    exists (select from "elysia_microservices".pending as p
      where p.grp = g.id and p.due >= due_from and p.due <= (select clock_timestamp()))
    or exists (select from "elysia_microservices".queued as q where q.grp = g.id and q.position >= g.queued)
    or g.ordered and exists (select from "elysia_microservices".batch as b
      where b.grp = g.id and b.id >= g.batches and b.process = '')
    or exists (select from "elysia_microservices".late as l where l.number > g.late)
    or case when g.matcher is null
      then (select last from "elysia_microservices".pattern where name = g.pattern order by name desc, total desc limit 1)
      else (select max(horizon) from "elysia_microservices".whole) end > g.cursor)
  from "elysia_microservices".standing as g where g.id = group_id);
end
$$;

-- The figures of groups: nothing is counted of which there may be many.
create or replace function "elysia_microservices".figures(ids json) returns json language sql stable ${PINNED} as $$
  select json_agg(json_build_object('id', g.id, 'paused', g.paused, 'lag',
    "elysia_microservices".total_of(g.pattern, g.matcher) - g.taken
    + "elysia_microservices".pending_of(g.id)
    + (select count(*) from "elysia_microservices".queued as q where q.grp = g.id and q.position >= g.queued)
    + coalesce((select sum(array_length(positions, 1)) from "elysia_microservices".batch as b
        where b.grp = g.id and b.id >= g.batches), 0)))
  from "elysia_microservices".standing as g where g.id in (select value::integer from json_array_elements_text(ids))
$$;
`
