/** Deleting what is too old. */
import { PINNED } from './pinned.ts'

export const PRUNING = `
-- Deletes what is too old, at most 500 events and 500 ids, behind those that were deleted before: up to a position, and
-- up to a time in milliseconds since 1970. Returns whether there may be more, how far it has come, and how many of the
-- events groups had not had. What appears there later, as its transaction lasted long, is deleted when somebody begins
-- from the beginning again.
create or replace function "elysia_microservices".prune_events(
  max_age bigint, duplicate_window integer, deleted bigint, forgotten bigint
) returns json language plpgsql ${PINNED} as $$
declare
  ids_from timestamptz := to_timestamp(forgotten / 1000.0);
  ids_until timestamptz := clock_timestamp() - duplicate_window * interval '1 millisecond';
  upto bigint;
  ids integer := 0;
  pruned json;
begin
  if pg_try_advisory_xact_lock(hashtextextended('elysia_microservices.prune', 0)) then
    delete from "elysia_microservices".recent where (pattern, id) in (
      select pattern, id from "elysia_microservices".recent
        where published >= ids_from and published <= ids_until order by published limit 500
        -- An open transaction publishes this id again.
        for update skip locked);
    get diagnostics ids = row_count;
    -- Others may have deleted more.
    ids_from := least(ids_until, (select published from "elysia_microservices".recent
      where published >= ids_from order by published limit 1 for update skip locked));
    if max_age > 0 then
      with oldest as materialized (
        select position, published <= clock_timestamp() - max_age * interval '1 millisecond' as is_old,
          -- One with a later time is of a clock that was set back since.
          published <= clock_timestamp() as is_certain
        from "elysia_microservices".event
          where position > deleted and position <= (select max(horizon) from "elysia_microservices".whole)
          order by position limit 500
      ) select max(position) into upto from oldest where is_old
          -- A later one with an earlier time is of a clock that was wrong.
          and position < coalesce((select min(position) from oldest where is_certain and not is_old), position + 1);
      if upto is not null then
        pruned := "elysia_microservices".delete_events(deleted, upto);
      end if;
      deleted := least((select max(horizon) from "elysia_microservices".whole), (select position - 1
        from "elysia_microservices".event where position > coalesce(upto, deleted) order by position limit 1));
    end if;
  end if;
  return json_build_object('more', greatest(ids, (pruned ->> 'count')::integer) >= 500, 'deleted', deleted::text,
    'forgotten', floor(extract(epoch from ids_from) * 1000), 'missed', coalesce(pruned -> 'missed', '[]'));
end
$$;

-- Deletes the events up to a position. For a group that has not had them they count as taken, or its lag would have them
-- for ever.
create or replace function "elysia_microservices".delete_events(behind bigint, upto bigint) returns json
language plpgsql as $$
#variable_conflict use_column
declare
  lagging integer[] := array(select id from "elysia_microservices".standing
    where cursor < upto or late < (select max(number) from "elysia_microservices".late) order by id);
  pruned json;
begin
  -- These take nothing meanwhile.
  perform from "elysia_microservices".grp where id = any (lagging) order by id for update;
  with gone as (
    delete from "elysia_microservices".event where position > behind and position <= upto
      returning position, pattern, "elysia_microservices".size_of(headers, body) as size
  ), late_gone as (
    delete from "elysia_microservices".late where position > behind and position <= upto returning number, position
  ), known as (
    -- The others were never counted.
    select gone.*, number from gone left join late_gone on late_gone.position = gone.position
      where not exists (select from "elysia_microservices".hole where hole.position = gone.position)
  ), missed as (
    select g.id, g.name, g.pattern, count(*) as count from "elysia_microservices".standing as g join known as k
      on case when g.matcher is null then k.pattern = g.pattern else k.pattern ~ g.matcher end
        and (k.position > g.cursor or k.number > g.late)
      where g.id = any (lagging) group by g.id, g.name, g.pattern
  ), passed as (
    update "elysia_microservices".progress as p set version = version + 1, taken = taken + m.count from missed as m
      where p.grp = m.id and p.version = (select version from "elysia_microservices".progress where grp = m.id
        order by version desc limit 1)
  )
  select json_build_object('count', (select count(*) from gone), 'size', (select sum(size) from known),
    'missed', (select coalesce(json_agg(json_build_object('group', name, 'pattern', pattern, 'count', count)), '[]')
      from missed))
    into pruned;
  perform "elysia_microservices".count_deleted(coalesce((pruned ->> 'size')::bigint, 0));
  return pruned;
end
$$;
`
