/** The statements that create the tables and functions, for a schema named `elysia_microservices`. */
import type { Migration } from '@elysia-microservices/outbox/database'
import { GROUPS } from './statements/groups.ts'
import { HORIZON } from './statements/horizon.ts'
import { TABLES } from './statements/log-tables.ts'
import { SETTLING } from './statements/settling.ts'
import { STORING } from './statements/storing.ts'
import { TAKING } from './statements/taking.ts'
import { TURNING } from './statements/turning.ts'

export const MIGRATIONS: readonly Migration[] = [
  {
    name: 'events_0001',
    statements: [TABLES, STORING, HORIZON, GROUPS, TAKING, SETTLING, TURNING].join('')
  }
]
