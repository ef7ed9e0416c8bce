/** What a client over Redis can do with stored events: publish them, and look after dead letters and groups. */
import { dataToJson, type EventHead, eventOf, PublishingStore } from '@elysia-microservices/transport/engine'
import {
  type ClientContext,
  type DeadLetters,
  type Pattern,
  type PublishOptions,
  routeOf
} from '@elysia-microservices/transport/kit'
import { requestHead } from '@elysia-microservices/transport/nest'
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { CheckedOptions } from '../options/options.ts'
import { channelOfCall } from '../words/channels.ts'
import { RedisDeadLetters } from './dead-letters.ts'
import { readableError } from './errors.ts'
import type { OutgoingEntry } from './event.ts'
import { EventStore } from './event-store.ts'
import { Groups } from './groups.ts'

/** Over whatever connection the client has. */
export class RedisClientStore extends PublishingStore<RedisConnection, OutgoingEntry> {
  readonly #options: CheckedOptions

  /** @param connect gives the connection; makes it if there is none */
  constructor(options: CheckedOptions, context: ClientContext, connect: () => Promise<RedisConnection>) {
    super(context, connect, {
      title: 'Redis',
      ensure: async (pattern) => {
        const connection = await connect()
        // Who may not look up who listens tells those who hear Nest's channel.
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
    return new RedisDeadLetters(group, async () => (await this.connect()).commands)
  }

  async pauseGroup(group: string, isPaused: boolean): Promise<void> {
    const connection = await this.connect()
    await new Groups(connection, this.#options.durable, this.context.logger).pause(group, isPaused)
  }

  attach(connection: RedisConnection): void {
    this.publisher.attach(new EventStore(connection, this.#options.durable, this.publisher))
  }

  protected outgoing(
    head: EventHead,
    pattern: Pattern,
    data: unknown,
    { key, headers }: PublishOptions
  ): OutgoingEntry {
    const address = channelOfCall(routeOf(pattern))
    const packet = eventOf(requestHead(pattern), dataToJson(data))
    return { ...head, address, size: Buffer.byteLength(packet), packet, key, headers }
  }
}
