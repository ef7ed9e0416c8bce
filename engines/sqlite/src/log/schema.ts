/** The tables in the file, and how a file of an earlier version becomes one of this version. */
import { OptionError } from '@elysia-microservices/transport/kit'
import type { Database } from '../driver.ts'

/** Marks a file as ours ('emsq'): a file of another program is left alone. */
const APPLICATION = 0x656d7371

/**
 * One list of statements for each version, from the first on. What was released is never changed: a new version adds
 * its own list.
 */
const VERSIONS: readonly string[] = [
  `
  -- What is true of the whole file: the last position, the bytes of all stored events, and the last deleted position.
  create table whole (
    one integer primary key check (one = 1),
    last integer not null,
    bytes integer not null,
    deleted integer not null
  );
  insert into whole values (1, 0, 0, 0);

  -- Each pattern to which something was published. The total counts all its events, the deleted ones included.
  create table pattern (id integer primary key, name text not null unique, total integer not null);

  -- The log: events are added at its end, and deleted at its beginning when they are too old. The ordinal counts the
  -- events of one pattern, so that what a group has not handled yet is a subtraction.
  create table event (
    position integer primary key,
    pattern integer not null,
    ordinal integer not null,
    published integer not null,
    id text not null,
    key text,
    headers text,
    body text not null,
    size integer not null
  );
  create index event_of_pattern on event (pattern, position, ordinal);

  -- The ids that were given by publishers, for the time within which an id is stored once.
  create table recent (pattern integer not null, id text not null, position integer not null, published integer not null,
    primary key (pattern, id)) without rowid;
  create index recent_by_time on recent (published);

  -- Each group of each handler: all events up to the cursor were taken. 'taken' counts them.
  create table grp (
    id integer primary key,
    name text not null,
    pattern text not null,
    ordered integer not null,
    paused integer not null,
    cursor integer not null,
    taken integer not null,
    unique (name, pattern)
  );

  -- Events up to the cursor that are not done. They run (no due), or are due at a time. 'letter' is 0, or the dead
  -- letter that was given back. 'attempt' counts the runs that have begun.
  create table pending (
    grp integer not null,
    position integer not null,
    letter integer not null,
    attempt integer not null,
    due integer,
    primary key (grp, position, letter)
  ) without rowid;
  create index pending_by_due on pending (grp, due, position) where due is not null;

  -- Dead letters, whole: the log does not keep an event for ever. While one is given back it is pending.
  create table letter (
    place integer primary key autoincrement,
    grp integer not null,
    position integer not null,
    pattern text not null,
    published integer not null,
    id text not null,
    key text,
    headers text,
    body text not null,
    reason text not null,
    attempts integer not null,
    died integer not null,
    pending integer not null default 0
  );
  create index letter_of_group on letter (grp, place);

  -- Events of the future, until they are due.
  create table later (
    pattern text not null,
    id text not null,
    due integer not null,
    key text,
    headers text,
    body text not null,
    size integer not null,
    primary key (pattern, id)
  ) without rowid;
  create index later_by_due on later (due, pattern, id);
  `
]

/**
 * Creates what is missing in a file.
 * @throws {OptionError} the file belongs to another program, or to a newer version of this package
 */
export function migrate(database: Database, file: string): void {
  const pragma = (name: string) => Number(database.prepare(`pragma ${name}`).get()?.[name])
  const application = pragma('application_id')
  const version = pragma('user_version')
  const isEmpty = database.prepare('select 1 from sqlite_master').get() === undefined
  if (application !== APPLICATION && !isEmpty)
    throw new OptionError(
      'file',
      `'${file}' has tables of another program: sqlite() wants a file of its own, which it owns alone; give it another name`
    )
  if (version > VERSIONS.length)
    throw new OptionError(
      'file',
      `'${file}' was written by a newer version of @elysia-microservices/sqlite (its tables have version ${version}, this one knows ${VERSIONS.length}): update the package`
    )
  if (version === VERSIONS.length) return
  database.exec('begin immediate')
  try {
    for (const statements of VERSIONS.slice(version)) database.exec(statements)
    database.exec(`pragma application_id = ${APPLICATION}; pragma user_version = ${VERSIONS.length}`)
    database.exec('commit')
  } catch (error) {
    database.exec('rollback')
    throw error
  }
}
