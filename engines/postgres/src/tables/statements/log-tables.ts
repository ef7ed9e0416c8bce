/** The tables: the log, its groups, and what becomes of its events. */
export const TABLES = `
-- While a transaction of anybody stays open, PostgreSQL keeps all older versions of a row that it might still read, and a
-- search for the row reads each of them. So rows that turns change have a key that grows with each change: a search
-- from its end finds the newest version first. Rows that are deleted are searched from a bound, below which none is left.

-- One row. Up to the horizon every position of the log is known: its event is readable, or the position is a hole.
create table "elysia_microservices".whole (
  horizon bigint primary key default 0,
  -- No young hole is below it.
  holes bigint not null default 0,
  -- The transactions before a number that ran when old holes were looked at last; all these holes are of such ones.
  before xid8 not null default '0',
  running xid8[] not null default '{}'
);
insert into "elysia_microservices".whole default values;

-- The log. Events are added in any order of commits, and deleted at the beginning when they are too old.
create sequence "elysia_microservices".event_position;
create table "elysia_microservices".event (
  position bigint primary key default nextval('"elysia_microservices".event_position'),
  pattern text not null,
  published timestamptz not null default clock_timestamp(),
  id text not null,
  key text,
  headers text,
  body text not null
);
create index event_of_pattern on "elysia_microservices".event (pattern, position);

-- The patterns of the events up to the horizon; the total counts the deleted ones, too.
create table "elysia_microservices".pattern (
  name text not null,
  total bigint not null,
  last bigint not null,
  primary key (name, total)
);

-- Ids, for the time within which an id is stored once.
create table "elysia_microservices".recent (
  pattern text not null,
  id text not null,
  position bigint not null,
  published timestamptz not null,
  primary key (pattern, id)
);
create index recent_by_time on "elysia_microservices".recent (published);

-- Positions up to the horizon whose transactions had not ended: an event appears there, or never will when all
-- transactions before a number have ended. A hole that stays for longer than most transactions is old.
create table "elysia_microservices".hole (
  position bigint primary key,
  before xid8 not null,
  noted timestamptz not null default clock_timestamp(),
  is_old boolean not null default false
);
create index young_hole on "elysia_microservices".hole (position) where not is_old;
create index old_hole on "elysia_microservices".hole (position) where is_old;

-- Events that appeared in holes, in the order in which they were found.
create table "elysia_microservices".late (
  number bigint generated always as identity primary key,
  position bigint not null unique
);

-- Each group of each handler.
create table "elysia_microservices".grp (
  id integer generated always as identity primary key,
  name text not null,
  pattern text not null,
  -- The pattern as a regular expression, if it has wildcards.
  matcher text,
  ordered boolean not null,
  paused boolean not null default false,
  unique (name, pattern)
);

-- How far each group is: one row. It has got the events up to the cursor, but for holes, and those of the late events up to
-- a number that were behind the cursor. None of its batches, and none of its queued events, is below a number.
create table "elysia_microservices".progress (
  grp integer not null,
  version bigint not null default 0,
  cursor bigint not null,
  late bigint not null,
  taken bigint not null,
  batches bigint not null default 0,
  queued bigint not null default 0,
  primary key (grp, version)
);
create view "elysia_microservices".standing as
  select g.*, p.cursor, p.late, p.taken, p.batches, p.queued from "elysia_microservices".grp as g, lateral (
    select * from "elysia_microservices".progress where grp = g.id order by version desc limit 1) as p;

-- A process that handles events, as long as it gives signs of life.
create table "elysia_microservices".process (
  id text primary key,
  seen timestamptz not null,
  asleep boolean not null default false
);

-- Events that run in a process, or wait in it for others of their key. 'attempts' counts the runs that have begun.
create table "elysia_microservices".batch (
  id bigint generated always as identity primary key,
  grp integer not null,
  process text not null,
  positions bigint[] not null,
  letters bigint[] not null,
  attempts integer[] not null,
  keys text[] not null,
  claimed boolean not null
);
create index batch_of_process on "elysia_microservices".batch (process, id);
create index batch_of_group on "elysia_microservices".batch (grp, id);

-- Events of claimed batches that are not acknowledged: a handler does that in a transaction of its own, by deleting the
-- row. So a locked row is an event of which nobody knows yet what becomes of it.
create table "elysia_microservices".claim (
  batch bigint not null,
  position bigint not null,
  letter bigint not null,
  primary key (batch, position, letter)
);

-- Events behind the cursor of an ordered group that wait for others of their key, which other processes have.
create table "elysia_microservices".queued (
  grp integer not null,
  position bigint not null,
  key text not null,
  primary key (grp, position)
);

-- Events behind the cursor that nobody has: they failed, or were given back. 'letter' is 0, or the dead letter that was
-- given back; 'attempt' counts the runs that have begun.
create table "elysia_microservices".pending (
  grp integer not null,
  position bigint not null,
  letter bigint not null,
  attempt integer not null,
  due timestamptz not null,
  key text,
  primary key (grp, position, letter)
);
create index pending_by_due on "elysia_microservices".pending (grp, due, position);

-- Dead letters, whole: the log does not keep an event for ever.
create table "elysia_microservices".letter (
  place bigint generated always as identity primary key,
  grp integer not null,
  position bigint not null,
  pattern text not null,
  published timestamptz not null,
  id text not null,
  key text,
  headers text,
  body text not null,
  reason text not null,
  attempts integer not null,
  died timestamptz not null default clock_timestamp(),
  pending boolean not null default false
);
create index letter_of_group on "elysia_microservices".letter (grp, place);

-- Events of the future, until they are due.
create table "elysia_microservices".later (
  pattern text not null,
  id text not null,
  due timestamptz not null,
  key text,
  headers text,
  body text not null,
  primary key (pattern, id)
);
create index later_by_due on "elysia_microservices".later (due);
`
