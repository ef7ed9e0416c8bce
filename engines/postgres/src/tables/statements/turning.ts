/** The turns of a process. */
import { PINNED } from './pinned.ts'

export const TURNING = `
-- One turn of a process: what is settled is written, and events are taken for the handlers that have room. 'known' are
-- the batches of which the process knows. The sign of life holds 'grace' milliseconds longer than 'lease', in a process whose
-- turns take long.
create function "elysia_microservices".turn(
  owner text, lease integer, settled json, known json, wanted json, will_sleep boolean, grace integer
) returns json language plpgsql ${PINNED} as $$
declare
  is_behind boolean;
  has_fired boolean;
  gone text[];
  lost json;
  taken json;
  dead text;
  next timestamptz;
  -- What the process has not heard of has nearly always a higher number than what it knows.
  heard bigint := coalesce((select max(k) from (
    select value::bigint as k from json_array_elements_text(known)
    union all select (value ->> 'batch')::bigint from json_array_elements(settled)) as b), 0);
  -- One answer has at most these bytes of events, if none is larger than its part.
  most_bytes bigint := 16 * 1024 * 1024 / greatest(1, json_array_length(wanted));
begin
  is_behind := "elysia_microservices".advance();
  has_fired := "elysia_microservices".fire(500);
  insert into "elysia_microservices".process as p (id, seen, asleep)
    values (owner, clock_timestamp() + grace * interval '1 millisecond', will_sleep)
    on conflict (id) do update set seen = greatest(p.seen, excluded.seen), asleep = excluded.asleep
    where p.seen < excluded.seen - lease * interval '0.25 millisecond' or p.asleep <> excluded.asleep;
  -- Unless that turn was late, so all are looked for now and then.
  if found then heard := 0; end if;
  for dead in
    select id from "elysia_microservices".process
      where seen < clock_timestamp() - lease * interval '1 millisecond' for update skip locked
  loop
    perform "elysia_microservices".free_batches(
      array(select id from "elysia_microservices".batch where process = dead), true);
    delete from "elysia_microservices".process where id = dead
      and not exists (select from "elysia_microservices".batch where process = dead);
  end loop;
  -- Also those of which nothing is settled: this sign of life must not renew what others have by now.
  gone := array(select k from json_array_elements_text(known) as k
    where not exists (select from "elysia_microservices".batch where id = k::bigint and process = owner));
  select json_agg(batch) into lost from (
    select unnest(gone) union select * from "elysia_microservices".settle_events(owner, settled)) as l (batch);
  -- A turn whose answer was lost has taken these: they have not begun.
  perform "elysia_microservices".free_batches(array(select id from "elysia_microservices".batch where process = owner
    and id > heard and id <> all (array(select value::bigint from json_array_elements_text(known)))), false);
  select json_agg(batch) into taken
    from json_to_recordset(wanted) as w (id integer, most integer, back integer, claims boolean),
      lateral "elysia_microservices".take_events(w.id, w.most, w.back, most_bytes, owner, w.claims is true) as batch
    where "elysia_microservices".has_more(w.id) and batch is not null;
  if is_behind or has_fired then
    -- Events that were just published, or behind more holes than one turn looks at, as thousands of duplicates leave them.
    next := clock_timestamp();
  elsif will_sleep then
    -- An event of the future that is due already waits for the transaction that publishes its key.
    select least((select min(due) from "elysia_microservices".later where due > clock_timestamp()), (
      select min(due) from json_to_recordset(wanted) as w (id integer), lateral (
        select due from "elysia_microservices".pending as p where p.grp = w.id and p.due > clock_timestamp()
          order by due limit 1) as d)) into next;
  end if;
  return json_build_object('lost', coalesce(lost, '[]'), 'taken', coalesce(taken, '[]'),
    'next', ceil(extract(epoch from next - clock_timestamp()) * 1000));
end
$$;

-- A process has ended: what it had is taken by others.
create function "elysia_microservices".leave(owner text) returns void language plpgsql as $$
begin
  update "elysia_microservices".process set seen = '-infinity', asleep = false where id = owner;
  perform "elysia_microservices".wake_handlers();
end
$$;
`
