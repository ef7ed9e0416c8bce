/**
 * The statements that create the tables and functions, for a schema named `elysia_microservices`. Released changes of the
 * tables never change; each change is a further migration. The last one creates the functions, which replace older ones.
 */
import type { Migration } from '@elysia-microservices/outbox/database'
import { COUNTING } from './statements/counting.ts'
import { GROUPS } from './statements/groups.ts'
import { HORIZON } from './statements/horizon.ts'
import { TABLES } from './statements/log-tables.ts'
import { PRUNING } from './statements/pruning.ts'
import { SECOND_VERSION } from './statements/second-version.ts'
import { SETTLING } from './statements/settling.ts'
import { STORING } from './statements/storing.ts'
import { TAKING } from './statements/taking.ts'
import { TURNING } from './statements/turning.ts'

const FUNCTIONS = [COUNTING, STORING, PRUNING, HORIZON, GROUPS, TAKING, SETTLING, TURNING].join('')

export const MIGRATIONS: readonly Migration[] = [
  { name: 'events_0001', statements: TABLES },
  { name: 'events_0002', statements: SECOND_VERSION + FUNCTIONS }
]
