/** The stored events of a client over a file: publishing, dead letters, pauses of groups. */
import {
  type ClientStoreInit,
  type EventContent,
  type EventHead,
  futureIn,
  inPages,
  joinedHeaders,
  merged,
  type OutgoingEvent,
  PublishingStore,
  type Store,
  unknownGroup
} from '@elysia-microservices/engine'
import {
  type BacklogEvent,
  type Clock,
  type DeadLetters,
  type ListBacklogOptions,
  NotStoredError
} from '@elysia-microservices/transport/kit'
import type { EventFile } from '../connection/event-file.ts'
import type { SqliteConnection } from '../connection/files.ts'
import type { BacklogPlace } from '../log/backlog.ts'
import type { NewEvent } from '../log/event.ts'
import { SqliteDeadLetters } from './dead-letters.ts'

/** The largest event in bytes: the event loop waits while it is written. */
const MAX_EVENT = 8 * 1024 * 1024

/** An event to be stored. */
interface OutgoingRow extends OutgoingEvent {
  readonly row: NewEvent
}

/** Publishes and manages stored events. */
export class SqliteClientStore extends PublishingStore<SqliteConnection, OutgoingRow> {
  override readonly future = futureIn(() => this.#file())
  protected override readonly clock: Clock

  constructor(init: ClientStoreInit<SqliteConnection>, duplicateWindow: number, clock: Clock) {
    super(init, { duplicateWindow })
    this.clock = clock
  }

  attach({ file }: SqliteConnection): void {
    const { publisher } = this
    const store: Store<OutgoingRow> = {
      isConnected: true,
      maxPayload: MAX_EVENT,
      append: ({ row }, number) =>
        file.append({
          event: row,
          isOpen: () => publisher.sentEvent(number) !== undefined,
          done(result) {
            if (result instanceof NotStoredError) return publisher.refused(number, result, true)
            const { position, isDuplicate } = result
            publisher.stored(number, position === undefined ? undefined : String(position), isDuplicate)
          }
        })
    }
    publisher.attach(store)
  }

  deadLetters(group: string): DeadLetters {
    return new SqliteDeadLetters(group, () => this.#file())
  }

  async hasGroup(group: string): Promise<boolean> {
    return (await this.#file()).groups.named(group).length > 0
  }

  async pauseGroup(group: string, isPaused: boolean): Promise<void> {
    const file = await this.#file()
    if (!file.pause(group, isPaused)) throw unknownGroup(group, `in '${file.name}'`)
  }

  override async lag(group: string): Promise<number> {
    const { groups, name } = await this.#file()
    const found = groups.named(group)
    if (found.length === 0) throw unknownGroup(group, `in '${name}'`)
    return found.reduce((sum, one) => sum + groups.lag(one), 0)
  }

  override async *backlog(group: string, { limit }: ListBacklogOptions = {}): AsyncGenerator<BacklogEvent> {
    const { groups, name, backlog, clock } = await this.#file()
    const found = groups.named(group)
    if (found.length === 0) throw unknownGroup(group, `in '${name}'`)
    const lists = found.map((one) =>
      inPages<BacklogPlace>(undefined, async (behind, most) => backlog.page(one, behind, most))
    )
    let left = limit ?? Number.POSITIVE_INFINITY
    for await (const place of merged(lists, (one, other) => one.position - other.position)) {
      if (left-- <= 0) return
      const event = backlog.event(place, clock.now())
      // It was handled meanwhile, or is too old.
      if (event === undefined) left++
      else yield event
    }
  }

  async #file(): Promise<EventFile> {
    return (await this.connect()).file
  }

  protected outgoing(head: EventHead, { packet, key, headers }: EventContent): OutgoingRow {
    const { pattern, address, id, isOwnId, timeout, signal, due } = head
    const text = headers && JSON.stringify(joinedHeaders(headers))
    const size = Buffer.byteLength(packet) + (text === undefined ? 0 : Buffer.byteLength(text))
    const row = { pattern: address, id, isOwnId, key, headers: text, body: packet, size, due }
    return { pattern, address, id, isOwnId, timeout, signal, size, row }
  }
}
