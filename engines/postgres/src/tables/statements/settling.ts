/** Writing what has become of events. */
export const SETTLING = `
-- Writes what has become of events. Each entry has a batch, its events that are left, and those that were put off or are
-- dead; in a claimed batch the claims decide. An entry of a batch that this process has lost does nothing, nor does what is written again because its answer
-- was lost. Returns the lost batches.
-- 'counter' is the process whose turn this is.
create or replace function "elysia_microservices".settle_events(owner text, settled json, counter text)
returns setof text language plpgsql as $$
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
    if json_array_length(one -> 'back') > 0 then
      perform "elysia_microservices".give_back(b.grp, counter, array(
        select row(b.grp, e.position, e.letter, e.attempt,
          clock_timestamp() + greatest(e.delay, 0) * interval '1 millisecond', e.lock)::"elysia_microservices".pending
        from json_to_recordset(one -> 'back') as e (position bigint, letter bigint, attempt integer,
          delay double precision, lock text)
        where e.position = any (b.positions)));
    end if;
    delete from "elysia_microservices".letter
      where place in (select value::bigint from json_array_elements_text(one -> 'over')) and pending;
  end loop;
end
$$;

-- An entry as the claims of its batch have it. An event without a claim is acknowledged, whatever the process believes:
-- the answer to its commit may have been lost. One whose claim is locked stays in the batch. One that is said to be done
-- and has its claim comes back, because the transaction in which it was acknowledged was rolled back.
create or replace function "elysia_microservices".by_claims(b "elysia_microservices".batch, one json) returns json
language plpgsql as $$
declare
  kept text[] := array(select concat(e ->> 'position', ' ', e ->> 'letter') from json_array_elements(one -> 'left') as e);
  free text[];
  busy text[];
begin
  -- All others of the batch are acknowledged, as it nearly always is.
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

-- Gives events back to their group. Those of an ordered group are in the order of their positions, whenever they come
-- back; so they have no time, and stay in a batch, which nobody has. The batch in which they were has a lower number, and
-- is there until this one is: no number below which there was no batch gets one. A dead letter has no place in that order.
create or replace function "elysia_microservices".give_back(
  group_id integer, counter text, events "elysia_microservices".pending[]
) returns void language plpgsql as $$
declare
  is_ordered boolean := coalesce((select ordered from "elysia_microservices".grp where id = group_id), false);
  added integer;
begin
  if is_ordered then
    insert into "elysia_microservices".batch (grp, process, positions, letters, attempts, keys, claimed)
      select group_id, '', array_agg(e.position order by e.position), array_agg(0::bigint),
        array_agg(e.attempt order by e.position), array_agg(e.key order by e.position), false
      from unnest(events) as e where e.letter = 0 having count(*) > 0;
  end if;
  insert into "elysia_microservices".pending
    select e.* from unnest(events) as e where not is_ordered or e.letter <> 0 on conflict do nothing;
  get diagnostics added = row_count;
  perform "elysia_microservices".count_pending(group_id, counter, added);
end
$$;

-- Acknowledges an event in the caller's transaction.
create or replace function "elysia_microservices".acknowledge(batch_id bigint, at bigint, letter_place bigint) returns void
language plpgsql as $$
begin
  delete from "elysia_microservices".claim where batch = batch_id and position = at and letter = letter_place;
  -- The transaction cannot be committed any more.
  if not found then
    raise exception 'The event is acknowledged already, or another process has it' using errcode = 'EM001';
  end if;
  if letter_place <> 0 then
    delete from "elysia_microservices".letter where place = letter_place;
  end if;
end
$$;

-- Gives a dead letter back to its group. Returns whether there was one.
create or replace function "elysia_microservices".redrive(group_name text, at bigint) returns boolean
language plpgsql as $$
declare
  l "elysia_microservices".letter;
  added integer;
begin
  perform from "elysia_microservices".grp where name = group_name order by id for update;
  update "elysia_microservices".letter set pending = true from "elysia_microservices".grp
    where grp.id = letter.grp and grp.name = group_name and place = at and not pending returning letter.* into l;
  if not found then return false; end if;
  insert into "elysia_microservices".pending (grp, position, letter, attempt, due, key)
    values (l.grp, l.position, at, 0, clock_timestamp(), null) on conflict do nothing;
  get diagnostics added = row_count;
  perform "elysia_microservices".count_pending(l.grp, '', added);
  perform "elysia_microservices".wake_handlers();
  return true;
end
$$;

-- Gives the events of batches to others, but for those that are just being acknowledged.
create or replace function "elysia_microservices".free_batches(ids bigint[], have_begun boolean, counter text)
returns void language plpgsql as $$
declare
  b "elysia_microservices".batch;
begin
  for b in select * from "elysia_microservices".batch where id = any (ids) order by id for update loop
    if b.claimed then
      perform "elysia_microservices".settle_events(b.process, json_build_array(json_build_object('batch', b.id::text,
        'left', '[]'::json, 'back', '[]'::json, 'dead', '[]'::json, 'over', '[]'::json, 'discarded', '[]'::json)), counter);
      continue;
    end if;
    delete from "elysia_microservices".batch where id = b.id;
    perform "elysia_microservices".give_back(b.grp, counter, array(
      select row(b.grp, u.position, u.letter,
        u.attempt - case when have_begun or (grp.ordered and u.key is not null and u.nth > 1) then 0 else 1 end,
        clock_timestamp(), u.key)::"elysia_microservices".pending
      from "elysia_microservices".grp, lateral (
        select p as position, l as letter, a as attempt, k as key, row_number() over (partition by k order by n) as nth
        from unnest(b.positions, b.letters, b.attempts, b.keys) with ordinality as u (p, l, a, k, n)
      ) as u where grp.id = b.grp));
  end loop;
end
$$;
`
