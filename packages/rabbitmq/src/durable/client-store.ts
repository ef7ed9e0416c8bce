/** The stored events of a client over RabbitMQ: publishing, and pauses of groups. */
import {
  type ClientStoreInit,
  type EventContent,
  type EventHead,
  PublishingStore,
  unknownGroup
} from '@elysia-microservices/transport/engine'
import { ConnectionError, type DeadLetters, OptionError } from '@elysia-microservices/transport/kit'
import { listenOn } from '../connection/inboxes.ts'
import type { RabbitConnection } from '../connection/rabbit-connection.ts'
import { writeHeaders } from '../words/headers.ts'
import { GROUPS, queueOfDead, queueOfMembers, queueOfPaused } from '../words/names.ts'
import { EventStore } from './event-store.ts'
import { optionsOf, type StoredMessage } from './stored.ts'

/** Milliseconds for the members of a group to say that they know it is paused. */
const MEMBERS_KNOW = 5_000

/** Over whatever connection the client has. */
export class RabbitClientStore extends PublishingStore<RabbitConnection, StoredMessage> {
  constructor(init: ClientStoreInit<RabbitConnection>) {
    // RabbitMQ knows no ids: what is sent again may be stored twice, however soon.
    super(init, { duplicateWindow: Number.POSITIVE_INFINITY })
  }

  /** @throws {OptionError} always: a queue cannot be looked through */
  deadLetters(group: string): DeadLetters {
    throw new OptionError(
      'options.transport',
      `RabbitMQ cannot show dead letters one by one; those of '${group}' are in the queue '${queueOfDead(group)}', for RabbitMQ's own tools (docs/rabbitmq.md)`
    )
  }

  async pauseGroup(group: string, isPaused: boolean): Promise<void> {
    const connection = await this.connect()
    const members = queueOfMembers(group)
    if (!(await connection.hasQueue(members))) throw unknownGroup(group, 'on this RabbitMQ server')
    const marker = queueOfPaused(group)
    const count = await connection.link.aside(async (channel) => {
      await channel.purgeQueue(marker)
      if (isPaused) channel.sendToQueue(marker, Buffer.from('paused'), { persistent: true })
      const { consumerCount } = await channel.checkQueue(members)
      return consumerCount
    })
    if (count > 0) await this.#tell(connection, group, count)
  }

  /** Resolves when all members know it. */
  async #tell(connection: RabbitConnection, group: string, count: number): Promise<void> {
    let known = 0
    let late: ReturnType<typeof setTimeout> | undefined
    await connection.link.aside(async (channel) => {
      const inbox = connection.newInbox()
      await new Promise<void>((resolve, reject) => {
        late = setTimeout(
          () =>
            reject(
              new ConnectionError(
                `Not all processes of the group '${group}' have confirmed that it is paused or resumed; try again`,
                true
              )
            ),
          MEMBERS_KNOW
        )
        const heard = () => {
          if (++known === count) resolve()
        }
        listenOn(channel, connection.hearing, inbox, heard)
          .then(() => channel.publish(GROUPS, '', Buffer.from(group), { messageId: `${inbox}1` }))
          .catch(reject)
      }).finally(() => clearTimeout(late))
    })
  }

  attach(connection: RabbitConnection): void {
    EventStore.attach(connection, this.publisher).catch((error: Error) => this.publisher.failWaiting(error))
  }

  protected outgoing(head: EventHead, { packet, key, headers: own }: EventContent): StoredMessage {
    const { headers, priority } = writeHeaders(own)
    const payload = Buffer.from(packet)
    return { ...head, payload, size: payload.length, options: optionsOf(head, key, headers, priority) }
  }
}
