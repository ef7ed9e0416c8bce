/**
 * Settings of functions whose statements read the log. They keep the plans that look up a few rows by an index: a table
 * that has just been filled has no statistics, or old ones, and with those PostgreSQL would read the log from its begin to
 * its end for each batch.
 */
export const PINNED = `set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
  set jit = off`
