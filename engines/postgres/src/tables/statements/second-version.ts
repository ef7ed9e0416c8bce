/** Changes of the tables since their first version. They lock no table that readers have: a reader may hold its transaction for long. */
export const SECOND_VERSION = `
-- Events that come back to a group: their number, as each process counts them. The version grows with each change.
create table "elysia_microservices".tally (
  grp integer not null,
  process text not null,
  version bigint not null,
  pending bigint not null,
  primary key (grp, process, version)
);

-- Milliseconds without a sign of life, after which others get the events of a process.
create table "elysia_microservices".lease (
  process text primary key,
  milliseconds integer not null
);

-- Bytes of all events up to the horizon, and of the deleted ones: a row each, whose key grows.
create table "elysia_microservices".stored (bytes bigint primary key default 0);
create table "elysia_microservices".deleted (bytes bigint primary key default 0);
insert into "elysia_microservices".deleted default values;

do $$
declare
  one record;
begin
  -- Meanwhile nothing moves the horizon, and nothing is deleted.
  perform pg_advisory_xact_lock(hashtextextended('elysia_microservices.advance', 0));
  perform pg_advisory_xact_lock(hashtextextended('elysia_microservices.prune', 0));
  insert into "elysia_microservices".stored
    select coalesce(sum(octet_length(body)::bigint + coalesce(octet_length(headers), 0)), 0)
    from "elysia_microservices".event
    where position <= (select max(horizon) from "elysia_microservices".whole)
      and not exists (select from "elysia_microservices".hole where hole.position = event.position);

  -- Who may use the log may use the new tables.
  for one in
    select privilege_type as privilege, table_name,
      case when grantee = 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end as grantee
    from pg_class, aclexplode(relacl), unnest(array['tally', 'lease', 'stored', 'deleted']) as table_name
    where pg_class.oid = '"elysia_microservices".progress'::regclass and grantee <> relowner
  loop
    execute format('grant %s on "elysia_microservices".%I to %s', one.privilege, one.table_name, one.grantee);
  end loop;

  -- No turn is under way from here on.
  lock table "elysia_microservices".process in exclusive mode;
  -- What has come back to an ordered group is in batches that nobody has.
  insert into "elysia_microservices".batch (grp, process, positions, letters, attempts, keys, claimed)
    select p.grp, '', array_agg(p.position order by p.position), array_agg(0::bigint),
      array_agg(p.attempt order by p.position), array_agg(p.key order by p.position), false
    from "elysia_microservices".pending as p join "elysia_microservices".grp as g on g.id = p.grp
    where g.ordered and p.letter = 0 group by p.grp;
  delete from "elysia_microservices".pending as p using "elysia_microservices".grp as g
    where g.id = p.grp and g.ordered and p.letter = 0;
  update "elysia_microservices".pending set due = clock_timestamp() where due = '-infinity';
  insert into "elysia_microservices".tally (grp, process, version, pending)
    select grp, '', 0, count(*) from "elysia_microservices".pending group by grp;

  -- Functions whose parameters have changed.
  for one in
    select oid::regprocedure as name from pg_proc where pronamespace = '"elysia_microservices"'::regnamespace
      and proname in ('settle_events', 'free_batches', 'due_now', 'store_events')
  loop
    execute format('drop function %s', one.name);
  end loop;
end
$$;
`
