/** The stored events of a client over Redis: publishing, dead letters, pauses of groups. */
import {
  type ClientStoreInit,
  type EventContent,
  type EventHead,
  PublishingStore
} from '@elysia-microservices/engine'
import type { BacklogEvent, DeadLetters, ListBacklogOptions } from '@elysia-microservices/transport/kit'
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { CheckedOptions } from '../options/options.ts'
import { readHandler } from '../words/keys.ts'
import { backlogOf } from './backlog.ts'
import { RedisDeadLetters } from './dead-letters.ts'
import { readableError } from './errors.ts'
import type { OutgoingEntry } from './event.ts'
import { EventStore } from './event-store.ts'
import { RedisFuture } from './future.ts'
import { Groups } from './groups.ts'

/** Publishes and manages stored events, over the current connection of the client. */
export class RedisClientStore extends PublishingStore<RedisConnection, OutgoingEntry> {
  override readonly future = new RedisFuture(async () => (await this.connect()).store)
  protected override readonly isTimedByServer = true
  readonly #options: CheckedOptions

  constructor(options: CheckedOptions, init: ClientStoreInit<RedisConnection>) {
    super(init, {
      ensure: async (pattern) => {
        const connection = await init.connect()
        // A user without the right to look up processes still publishes: then only subscribers of NestJS's channel
        // receive the event at once.
        await connection.routing.follow().catch((error: Error) => {
          if (error.name !== 'ReplyError') throw readableError(error, `the event '${pattern}'`)
        })
        await new EventStore(connection, options.durable).ensure(pattern)
      },
      duplicateWindow: options.durable.duplicateWindow
    })
    this.#options = options
  }

  deadLetters(group: string): DeadLetters {
    return new RedisDeadLetters(group, async () => (await this.connect()).store)
  }

  override async *backlog(group: string, options: ListBacklogOptions = {}): AsyncGenerator<BacklogEvent> {
    yield* backlogOf((await this.connect()).store, group, options)
  }

  async hasGroup(group: string): Promise<boolean> {
    const { store } = await this.connect()
    return (await store.handlers()).some((field) => readHandler(field).group === group)
  }

  async pauseGroup(group: string, isPaused: boolean): Promise<void> {
    const connection = await this.connect()
    await new Groups(connection, this.#options.durable, this.context.logger).pause(group, isPaused)
  }

  attach(connection: RedisConnection): void {
    this.publisher.attach(new EventStore(connection, this.#options.durable, this.publisher))
  }

  protected outgoing(head: EventHead, { packet, key, headers }: EventContent): OutgoingEntry {
    const { pattern, address, id, isOwnId, timeout, signal, due, steadyDue } = head
    const size = Buffer.byteLength(packet)
    const batch = undefined
    // Each field is written out, because V8 takes three times as long to copy `head`.
    return {
      pattern,
      address,
      id,
      isOwnId,
      timeout,
      signal,
      due,
      steadyDue,
      size,
      packet,
      key,
      headers,
      batch
    }
  }
}
