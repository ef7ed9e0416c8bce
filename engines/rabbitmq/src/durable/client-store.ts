/** The durable events of a client over RabbitMQ: publishing, and pauses of groups. */
import {
  type ClientStoreInit,
  type EventContent,
  type EventHead,
  noBacklog,
  PublishingStore,
  unknownGroup
} from '@elysia-microservices/engine'
import {
  ConnectionError,
  type DeadLetters,
  endedWithin,
  OptionError
} from '@elysia-microservices/transport/kit'
import { listenOn } from '../connection/inboxes.ts'
import type { RabbitConnection } from '../connection/rabbit-connection.ts'
import { GROUPS, NEWS, queueOfDead, queueOfMembers, queueOfPaused } from '../words/names.ts'
import { EventStore } from './event-store.ts'
import { optionsOf, type StoredMessage } from './stored.ts'

/** Milliseconds within which all members of a group must confirm that the group is paused or resumed. */
const MEMBERS_KNOW = 5_000

/** Milliseconds until the channel for events is opened again, if the server did not open it. */
const ATTACH_AGAIN = 2_000

/** Publishes and manages durable events, over the current connection of the client. */
export class RabbitClientStore extends PublishingStore<RabbitConnection, StoredMessage> {
  constructor(init: ClientStoreInit<RabbitConnection>) {
    // RabbitMQ does not know the ids of events: an event that is sent again may be stored twice, however soon.
    super(init, { duplicateWindow: Number.POSITIVE_INFINITY })
  }

  /** @throws {OptionError} always: RabbitMQ cannot list the messages of a queue */
  deadLetters(group: string): DeadLetters {
    throw new OptionError(
      'options.transport',
      `RabbitMQ cannot show dead letters one by one; those of '${group}' are in the queue '${queueOfDead(group)}', for RabbitMQ's own tools (docs/rabbitmq.md)`
    )
  }

  /** @throws {OptionError} always: who looks at a queue takes its messages off */
  override backlog(group: string): never {
    throw noBacklog(group, 'RabbitMQ gives a message away to show it, which would count as a delivery')
  }

  async hasGroup(group: string): Promise<boolean> {
    return (await this.connect()).hasQueue(queueOfMembers(group))
  }

  async pauseGroup(group: string, isPaused: boolean): Promise<void> {
    const connection = await this.connect()
    const members = queueOfMembers(group)
    if (!(await connection.hasQueue(members))) throw unknownGroup(group, 'on this RabbitMQ server')
    const marker = queueOfPaused(group)
    const count = await connection.link.aside(async (channel) => {
      await channel.purgeQueue(marker)
      if (isPaused) channel.publish(GROUPS, marker, Buffer.from('paused'), { persistent: true })
      // The marker must be in its queue before the members are told: a process that looks earlier would confirm and
      // go on.
      await channel.confirmed()
      const { consumerCount } = await channel.checkQueue(members)
      return consumerCount
    })
    if (count > 0) await this.#tell(connection, group, count)
  }

  /** @throws {ConnectionError} some members have not confirmed in time */
  async #tell(connection: RabbitConnection, group: string, count: number): Promise<void> {
    const isKnown = await connection.link.aside(async (channel) => {
      const inbox = connection.newInbox()
      let known = 0
      let allKnow = () => {}
      const all = new Promise<void>((resolve) => {
        allKnow = resolve
      })
      await listenOn(channel, connection.hearing, inbox, () => {
        if (++known === count) allKnow()
      })
      channel.publish(GROUPS, NEWS, Buffer.from(group), { messageId: `${inbox}1` })
      return endedWithin(all, MEMBERS_KNOW)
    })
    if (!isKnown)
      throw new ConnectionError(
        `Not all processes of the group '${group}' have confirmed that it is paused or resumed; try again`,
        true
      )
  }

  attach(connection: RabbitConnection): void {
    EventStore.attach(connection, this.publisher).catch((error: Error) => {
      this.publisher.failWaiting(error)
      setTimeout(() => this.attach(connection), ATTACH_AGAIN).unref?.()
    })
  }

  protected outgoing(head: EventHead, { packet, key, headers }: EventContent): StoredMessage {
    const payload = Buffer.from(packet)
    return { ...head, payload, size: payload.length, options: optionsOf(head, key, headers) }
  }
}
