/** The options of a relay. */
import {
  atLeast,
  checkLogger,
  checkNames,
  consoleLogger,
  type Logger,
  loggerOf,
  milliseconds,
  OptionError
} from '@elysia-microservices/transport/kit'
import type { DatabaseSql } from '../database/adapter.ts'
import type { Publisher } from '../publisher.ts'
import { checkSchema, type SchemaOptions } from '../schema.ts'

/** Options of `outboxRelay()`. */
export interface OutboxRelayOptions extends SchemaOptions {
  /** The `sql` of postgres.js or of Bun, or a pool of `pg`, with at least two connections. */
  readonly sql: DatabaseSql
  /**
   * The client that publishes the events, over a transport that stores them. The relay does not close it; close it
   * after `stop()`.
   */
  readonly client: Publisher
  /** Largest number of events that the relay reads and sends to the broker at the same time. Default: 500. */
  readonly batch?: number | undefined
  /**
   * Milliseconds after which a sleeping relay looks for events without being woken. New events wake the relay at
   * once, except those of a transaction that began before the relay fell asleep. So this option limits the delay of
   * such events, and the time until another relay takes over. Default: 500.
   */
  readonly pollInterval?: number | undefined
  /** Milliseconds within which the broker must store an event, and PostgreSQL must answer. Default: 10,000. */
  readonly publishTimeout?: number | undefined
  /** Receives warnings and errors. Default: the console. */
  readonly logger?: Logger | undefined
}

/** The checked options. */
export interface CheckedRelayOptions {
  readonly sql: DatabaseSql
  readonly client: Publisher
  readonly batch: number
  readonly pollInterval: number
  readonly publishTimeout: number
  readonly logger: Logger
  readonly schema: string
}

const NAMES = ['sql', 'client', 'batch', 'pollInterval', 'publishTimeout', 'logger', 'schema']

/** Checks the options. @throws {OptionError} an option is invalid */
export function relayOptions(given: OutboxRelayOptions): CheckedRelayOptions {
  checkNames('options', given, NAMES)
  const {
    sql,
    client,
    batch = 500,
    pollInterval = 500,
    publishTimeout = 10_000,
    logger = consoleLogger
  } = given
  if (typeof Object(client).publish !== 'function')
    throw OptionError.expected('options.client', 'a client with publish()', client)
  atLeast(1, 'options.batch', batch)
  if (!Number.isInteger(batch) || batch > 100_000)
    throw OptionError.expected('options.batch', 'a whole number from 1 to 100000', batch)
  milliseconds(1, 'options.pollInterval', pollInterval)
  milliseconds(1, 'options.publishTimeout', publishTimeout)
  checkLogger('options.logger', logger)
  const schema = checkSchema(given.schema)
  return { sql, client, batch, pollInterval, publishTimeout, logger: loggerOf(logger), schema }
}
