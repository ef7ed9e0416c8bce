/**
 * The statements that create the tables, for a schema named `elysia_microservices`. The build writes each migration
 * into a file of `lib/migrations`.
 */

/** One migration. Released migrations never change; each change of the tables is a further migration. */
export interface Migration {
  readonly name: string
  readonly statements: string
}

export const MIGRATIONS: readonly Migration[] = [
  {
    name: '0001_outbox_and_inbox',
    statements: `
create table "elysia_microservices".outbox (
  -- In order of insertion. Of one key this is the order of commits too: see publish().
  position bigint generated always as identity primary key,
  id text not null,
  pattern text not null,
  key text,
  headers json,
  -- Null stands for undefined. Not jsonb: that changes the order of keys and refuses \\u0000.
  data json,
  created_at timestamptz not null default clock_timestamp(),
  -- How often the relay has tried.
  attempts integer not null default 0,
  -- Set while an event that failed waits for its next attempt.
  retry_at timestamptz,
  published_at timestamptz,
  -- Set when the relay has put the event aside, because it can never be published.
  failed_at timestamptz,
  -- Why the last attempt failed.
  reason text,
  unique (id, pattern)
);
create index outbox_fresh on "elysia_microservices".outbox (position)
  where published_at is null and failed_at is null and retry_at is null;
create index outbox_waiting on "elysia_microservices".outbox (retry_at) where retry_at is not null;
create index outbox_waiting_key on "elysia_microservices".outbox (key) where retry_at is not null;
create index outbox_failed on "elysia_microservices".outbox (position) where failed_at is not null;

-- One row. A publisher notifies the relay only while it sleeps: commits that notify wait for one another.
create table "elysia_microservices".relay (
  one boolean primary key default true check (one),
  asleep boolean not null default true
);
insert into "elysia_microservices".relay default values;

-- Writes an event in the caller's transaction; null if there is one with this id and pattern already. Returns text,
-- because drivers make different things of a bigint.
create function "elysia_microservices".publish(
  id text, pattern text, data json, key text default null, headers json default null
) returns text language plpgsql as $$
declare
  at bigint;
begin
  -- Transactions that publish the same key wait here for one another until they end. So positions of one key are in
  -- the order of commits, and who sees one of them sees all before it.
  if publish.key is not null then
    perform pg_advisory_xact_lock(hashtextextended('elysia_microservices.outbox ' || publish.key, 0));
  end if;
  -- The transaction has its number before the event has its position: relays conclude from the numbers of running
  -- transactions which positions may still appear.
  perform pg_current_xact_id();
  insert into "elysia_microservices".outbox as o (id, pattern, key, headers, data)
    values (publish.id, publish.pattern, publish.key, publish.headers, publish.data)
    on conflict on constraint outbox_id_pattern_key do nothing
    returning o.position into at;
  if at is not null and (select asleep from "elysia_microservices".relay) then
    perform pg_notify('elysia_microservices_outbox', '');
  end if;
  return at::text;
end
$$;

create table "elysia_microservices".inbox (
  name text not null,
  id text not null,
  handled_at timestamptz not null default clock_timestamp(),
  primary key (name, id)
);
create index inbox_handled on "elysia_microservices".inbox (handled_at);
`
  },
  {
    name: '0002_mark',
    statements: `
-- One row, by which relays read less: at and below the position no event waits for its first attempt, and none can
-- appear any more. It stands in the database, and is changed by transactions, because it is true of this database only:
-- after a failover or a restore, the mark is back where the events are.
create table "elysia_microservices".mark (
  one boolean primary key default true check (one),
  position bigint not null default 0,
  -- The mark can move up to this position when every transaction before this number has ended.
  next_position bigint not null default 0,
  next_transaction xid8
);
insert into "elysia_microservices".mark default values;

create function "elysia_microservices".reset_mark() returns trigger language plpgsql as $$
begin
  update "elysia_microservices".mark set position = 0, next_position = 0, next_transaction = null;
  return null;
end
$$;
-- Positions may begin again at 1.
create trigger outbox_truncated after truncate on "elysia_microservices".outbox
  for each statement execute function "elysia_microservices".reset_mark();
`
  }
]
