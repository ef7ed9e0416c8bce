/**
 * The clock of a database as a test sets it: functions that ask for the time find this one before that of PostgreSQL. It
 * must be there before the tables, whose columns have the time by default.
 */
export const SETTABLE_CLOCK = `
  create schema clock;
  create table clock.off (by interval not null);
  insert into clock.off values ('0');
  create function clock.clock_timestamp() returns timestamptz language sql volatile as
    'select pg_catalog.clock_timestamp() + by from clock.off';
  do $$ begin
    execute format('alter database %I set search_path = clock, pg_catalog, public', current_database());
  end $$;
  set search_path = clock, pg_catalog, public`

/** The statement that sets it. @param by from the system's clock, as PostgreSQL writes an interval: `-1 hour` */
export const setClock = (by: string): string => `update clock.off set by = '${by}'`
