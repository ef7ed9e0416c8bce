/** The groups of handlers: made, and their figures. */
export const GROUPS = `
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
      (name, pattern, matcher, ordered, cursor, late, taken)
      select group_name, group_pattern, group_matcher, is_ordered, at, latest,
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

create function "elysia_microservices".has_more(group_id integer) returns boolean language plpgsql stable as $$
begin
  return (select not g.paused and (
    exists (select from "elysia_microservices".pending as p where p.grp = g.id and p.due <= clock_timestamp())
    or exists (select from "elysia_microservices".late as l where l.number > g.late)
    or case when g.matcher is null
      then exists (select from "elysia_microservices".pattern as p where p.name = g.pattern and p.last > g.cursor)
      else (select horizon from "elysia_microservices".whole) > g.cursor end)
  from "elysia_microservices".grp as g where g.id = group_id);
end
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
`
