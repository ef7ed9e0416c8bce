/** Taking events of a group for a process. */
export const TAKING = `
-- Takes events of one group for a process: at most 'most', as many bytes as told, and at least one; at most
-- 'back' of those that come back, and then no more in all: they may have ended their process, and the others of a batch that ends
-- with its process count as begun. Below 'due_from' nothing is due. Returns one batch, column by column, or null.
create or replace function "elysia_microservices".take_events(
  group_id integer, most integer, back integer, most_bytes bigint, owner text, with_claims boolean, due_from timestamptz
) returns json language plpgsql as $$
#variable_conflict use_column
declare
  g "elysia_microservices".grp;
  s "elysia_microservices".progress;
  homes bigint[] := '{}';
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
  back_again integer := 0;
  most_rows integer;
begin
  -- Processes of a group take one after the other.
  select * into g from "elysia_microservices".grp where id = group_id for update;
  if not found or g.paused or most <= 0 then return null; end if;
  select * into s from "elysia_microservices".progress where grp = g.id order by version desc limit 1;
  select max(horizon) into h from "elysia_microservices".whole;
  select min(b.id), coalesce(array_agg(k) filter (where k is not null), '{}') into oldest, busy
    from "elysia_microservices".batch as b
    left join lateral unnest(case when g.ordered and b.process not in (owner, '') then b.keys end) as k on true
    where b.grp = g.id and b.id >= s.batches;

  -- First those that come back.
  for one in
    select p.position, p.letter, p.attempt, p.key, p.home, coalesce(case when p.letter = 0
        then (select octet_length(body) from "elysia_microservices".event where position = p.position)
        else (select octet_length(body) from "elysia_microservices".letter where place = p.letter) end, 0) as size
      from (
        (select position, letter, attempt, key, due, 0::bigint as home from "elysia_microservices".pending
          where grp = g.id and due >= due_from and due <= (select clock_timestamp())
          order by due, position, letter limit least(most, back))
        union all
        (select position, 0, 0, key, '-infinity', -1 from "elysia_microservices".queued
          where g.ordered and grp = g.id and position >= s.queued and key <> all (busy)
          order by position limit least(most, back))
        union all
        (select u.position, 0, u.attempt, u.key, '-infinity', b.id from "elysia_microservices".batch as b,
            unnest(b.positions, b.attempts, b.keys) as u (position, attempt, key)
          where g.ordered and b.grp = g.id and b.id >= s.batches and b.process = '' and (u.key is null or u.key <> all (busy))
          order by u.position limit least(most, back))
      ) as p
      order by p.due, p.position, p.letter limit least(most, back)
  loop
    exit when bytes <= 0;
    if one.home < 0 then
      delete from "elysia_microservices".queued where grp = g.id and position = one.position;
    elsif one.home > 0 then
      homes := homes || one.home;
    else
      delete from "elysia_microservices".pending
        where grp = g.id and position = one.position and letter = one.letter;
      back_again := back_again + 1;
    end if;
    bytes := bytes - one.size;
    positions := positions || one.position;
    letters := letters || one.letter;
    attempts := attempts || one.attempt;
    keys := array_append(keys, one.key);
  end loop;
  if cardinality(positions) > 0 then room := least(most, back) - cardinality(positions); end if;
  if homes <> '{}' then perform "elysia_microservices".take_out(homes, positions); end if;
  if back_again > 0 then
    perform "elysia_microservices".count_pending(g.id, owner, -back_again);
  elsif due_from = '-infinity' then
    perform "elysia_microservices".correct_pending(g.id, owner);
  end if;

  if g.ordered then
    select coalesce(array_agg(distinct key), '{}') || busy, count(*) into busy, waiting from (
      select k as key from "elysia_microservices".batch, unnest(keys) as k
        where grp = g.id and id >= s.batches and process = '' and k is not null
      union all
      select key from "elysia_microservices".queued where grp = g.id and position >= s.queued
    ) as p;
  end if;

  -- Then those that were found late behind the cursor, and then the log up to the horizon, which has all other late ones.
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
  -- There are no more that were found late.
  if lates < most + 64 then number := latest; end if;
  -- Those that are left of the late ones come before what the log has of their keys.
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
      -- What was taken, put off and read before each.
      select position, key, is_busy, count(*) filter (where not is_busy) over before as taken_before,
        count(*) filter (where is_busy) over before as busy_before,
        coalesce(sum(size) filter (where not is_busy) over before, 0) as bytes_before
      from (
        select e.position, e.key, octet_length(e.body) as size,
          g.ordered and e.key is not null and e.key = any (busy) as is_busy
        from log as e
        where not exists (select from "elysia_microservices".hole where hole.position = e.position)
          -- Found since: the next take has them, behind the cursor.
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
    -- What is queued from now on is found late, or comes from behind the cursor.
    first := coalesce((select min(position) from "elysia_microservices".queued where grp = g.id and position >= s.queued),
      greatest(s.cursor, passed) + 1);
  end if;
  if passing > 0 or passed > s.cursor or number > s.late or first <> s.queued or homes <> '{}' then
    update "elysia_microservices".progress set version = version + 1, cursor = greatest(cursor, passed),
        late = greatest(late, number), taken = taken + passing, batches = coalesce(oldest, batch_id, batches),
        queued = coalesce(first, queued)
      where grp = g.id and version = s.version;
  end if;
  if batch_id is null then return null; end if;
  return "elysia_microservices".show_events(g.id, batch_id, positions, letters, attempts);
end
$$;

-- Takes events out of batches that nobody has. What is left of these gets a new number.
create or replace function "elysia_microservices".take_out(homes bigint[], taken bigint[]) returns void
language plpgsql as $$
begin
  with gone as (
    delete from "elysia_microservices".batch where id = any (homes) returning *
  )
  insert into "elysia_microservices".batch (grp, process, positions, letters, attempts, keys, claimed)
    select gone.grp, '', array_agg(u.p order by u.p), array_agg(0::bigint), array_agg(u.a order by u.p),
        array_agg(u.k order by u.p), false
      from gone, unnest(gone.positions, gone.attempts, gone.keys) as u (p, a, k)
      where u.p <> all (taken) group by gone.grp;
end
$$;

-- The runs that have begun when a batch of an ordered group is taken: those that wait for others of their key have not.
create or replace function "elysia_microservices".begun(attempts integer[], keys text[]) returns integer[] language sql immutable as $$
  select array_agg(case when k is not null and nth > 1 then a else a + 1 end order by n) from (
    select a, k, n, row_number() over (partition by k order by n) as nth
    from unnest(attempts, keys) with ordinality as u (a, k, n)
  ) as numbered
$$;

-- Events of a batch, column by column.
create or replace function "elysia_microservices".show_events(
  group_id integer, batch_id bigint, positions bigint[], letters bigint[], attempts integer[]
) returns json language plpgsql stable as $$
#variable_conflict use_column
begin
  return (select json_build_object('group', group_id, 'batch', batch_id::text, 'position', array_agg(position::text),
    'letter', array_agg(letter::text), 'attempt', array_agg(attempt + 1),
    'published', array_agg(date_part('epoch', published) * 1000), 'pattern', array_agg(pattern), 'id', array_agg(id),
    -- Without a body: the log has deleted it meanwhile.
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
`
