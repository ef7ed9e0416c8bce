/** The stored events of a client over PostgreSQL: publishing, dead letters, pauses of groups. */
import {
  backlogEvent,
  type ClientStoreInit,
  type EventContent,
  type EventHead,
  futureIn,
  inPages,
  isCutPage,
  joinedHeaders,
  PublishingStore,
  unknownGroup
} from '@elysia-microservices/engine'
import { checkText, type Row } from '@elysia-microservices/outbox/database'
import type { BacklogEvent, DeadLetters, ListBacklogOptions } from '@elysia-microservices/transport/kit'
import type { Keeping } from '../connection/in-transaction.ts'
import type { PostgresConnection } from '../connection/postgres-connection.ts'
import type { Tables } from '../connection/tables.ts'
import { PostgresDeadLetters } from './dead-letters.ts'
import { EventStore } from './event-store.ts'
import type { OutgoingRow } from './outgoing.ts'

/** Publishes and manages stored events. */
export class PostgresClientStore extends PublishingStore<PostgresConnection, OutgoingRow> {
  override readonly future = futureIn(() => this.#tables())
  protected override readonly isTimedByServer = true
  readonly #keeping: Keeping

  constructor(init: ClientStoreInit<PostgresConnection>, keeping: Keeping) {
    const { duplicateWindow } = keeping
    super(init, { duplicateWindow, holding: 'a transaction that has published its key has not ended' })
    this.#keeping = keeping
  }

  attach(connection: PostgresConnection): void {
    connection.reach.watch()
    this.publisher.attach(new EventStore(connection, this.publisher, this.#keeping))
  }

  deadLetters(group: string): DeadLetters {
    return new PostgresDeadLetters(group, () => this.#tables())
  }

  async hasGroup(group: string): Promise<boolean> {
    return (await (await this.#tables()).groupIds(group)).length > 0
  }

  async pauseGroup(group: string, isPaused: boolean): Promise<void> {
    const tables = await this.#tables()
    if (!(await tables.pause(group, isPaused))) throw unknownGroup(group, `in the schema ${tables.schema}`)
  }

  override async lag(group: string): Promise<number> {
    const tables = await this.#tables()
    const lag = await tables.lag(group)
    if (lag === undefined) throw unknownGroup(group, `in the schema ${tables.schema}`)
    return lag
  }

  override async *backlog(group: string, { limit }: ListBacklogOptions = {}): AsyncGenerator<BacklogEvent> {
    const tables = await this.#tables()
    const ids = await tables.groupIds(group)
    if (ids.length === 0) throw unknownGroup(group, `in the schema ${tables.schema}`)
    const read = (behind: Row | undefined, most: number) => tables.backlog(ids, behind, most)
    for await (const row of inPages(limit, read, isCutPage)) {
      // The log has deleted it, because of its age.
      if (row['body'] === null) continue
      const due = row['due']
      const state = due === null ? 'running' : Number(due) > Number(row['now']) ? 'pausing' : 'waiting'
      yield backlogEvent(row, state)
    }
  }

  async #tables(): Promise<Tables> {
    return (await this.connect()).tables
  }

  protected outgoing(head: EventHead, { packet, key, headers }: EventContent): OutgoingRow {
    const { pattern, address, id, isOwnId, timeout, signal, due, steadyDue } = head
    checkText('pattern', address)
    checkText('options.id', id)
    if (key !== undefined) checkText('options.key', key)
    const text = headers && JSON.stringify(joinedHeaders(headers))
    const size = Buffer.byteLength(packet) + (text === undefined ? 0 : Buffer.byteLength(text))
    const row = { pattern: address, id, key, headers: text, body: packet, due }
    return { pattern, address, id, isOwnId, timeout, signal, steadyDue, size, row }
  }
}
