/** Taking events of a group for a process. */
export const TAKING = `
-- Takes events of one group for a process.
create function "elysia_microservices".take_events(
  group_id integer, most integer, owner text, with_claims boolean
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

  -- Then those that were found late behind the cursor, and then the log up to the horizon, which has all other late ones.
  select max(l.number) into latest from "elysia_microservices".late as l;
  for one in
    select * from (
      (select l.number, e.position, e.key from "elysia_microservices".late as l
        join "elysia_microservices".event as e on e.position = l.position
        where l.number > g.late and l.number <= latest and l.position <= g.cursor
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
  -- Those that are left of the late ones come before what the log has of their keys.
  if room > 0 and waiting < 2000 and lates < most + 64 then
    most_rows := room + case when g.ordered then 64 else 0 end;
    for one in
      select e.position, e.key from "elysia_microservices".event as e
        where e.position > g.cursor and e.position <= h
          and case when g.matcher is null then e.pattern = g.pattern else e.pattern ~ g.matcher end
          and not exists (select from "elysia_microservices".hole where hole.position = e.position)
          -- Found since: the next take has them, behind the cursor.
          and not exists (select from "elysia_microservices".late as l
            where l.position = e.position and l.number > coalesce(latest, 0))
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

  insert into "elysia_microservices".batch (grp, process, positions, letters, attempts, keys, claimed)
    values (g.id, owner, positions, letters, array(
      -- Those that wait for others of their key have not begun.
      select a + case when g.ordered and k = any (keys[1:n - 1]) then 0 else 1 end
      from unnest(attempts, keys) with ordinality as u (a, k, n) order by n
    ), keys, with_claims) returning id into batch_id;
  if with_claims then
    insert into "elysia_microservices".claim (batch, position, letter)
      select batch_id, p, l from unnest(positions, letters) as u (p, l);
  end if;
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
`
