/** Further methods of a client whose engine stores events: publishing, dead letters, and pausing of groups. */
import {
  type BacklogEvent,
  type ClientContext,
  type Clock,
  checkPublishOptions,
  type DeadLetters,
  type DurableCaller,
  directedHeaders,
  dueOf,
  type FutureEvents,
  GROUPS,
  hasTime,
  inheritedOptions,
  type ListBacklogOptions,
  nameOf,
  noFuture,
  OptionError,
  type Pattern,
  type Published,
  type PublishOptions,
  systemClock,
  timeoutOf,
  unsendable
} from '@elysia-microservices/transport/kit'
import type { CarriedHeaders } from '../carrier.ts'
import { CallWriter, eventOf } from '../client/outgoing-call.ts'
import { newSecret } from '../secret.ts'
import type { OutgoingEvent, PublisherOptions } from './outgoing-event.ts'
import { Publisher } from './publisher.ts'
import type { StoreConnection, StoreEngine } from './store-engine.ts'

/** The error of a store that cannot show what waits. @param why a sentence without its full stop */
export function noBacklog(group: string, why: string): OptionError {
  return new OptionError(
    'group.backlog',
    `The events that wait for '${group}' cannot be shown: ${why}. Their number is in the figures of its processes`
  )
}

/** The durable part of a client. The client calls its methods when the connection changes. */
export interface ClientStore<Connection> extends DurableCaller {
  /** The client has a connection: events that wait are published over it. */
  attach(connection: Connection): void
  /** The server is back. */
  restored(): void
  /**
   * The server does not let this user publish to an address. Only of engines that store what is published to the address
   * of its pattern.
   */
  forbidden?(address: string, error: Error): void
  /** The connection has ended; `attach` follows with the next connection. */
  detach(): void
  /**
   * The client is closed.
   * @param error the error for events that were sent
   * @param unsent the error for events that were not sent
   */
  close(error: Error, unsent: Error): void
}

/** The parts of a client that its store needs. */
export interface ClientStoreInit<Connection extends StoreConnection> {
  readonly engine: StoreEngine<Connection>
  readonly context: ClientContext
  /** Returns the connection; connects if there is none. */
  connect(): Promise<Connection>
  /** Why the server takes no messages at the moment, as a sentence; `undefined`: it takes messages. */
  halted(): string | undefined
}

/** Fields of an event that are the same over every engine. */
export type EventHead = Omit<OutgoingEvent, 'size'>

/** The content of an event. */
export interface EventContent {
  /** The data as JSON; `undefined` if the event has no data. */
  readonly json: string | undefined
  /** The packet with the data, in the format of Nest's clients. */
  readonly packet: string
  readonly key: string | undefined
  readonly headers: CarriedHeaders | undefined
}

/**
 * Makes the error for a group that does not exist.
 * @param where such as 'on this NATS server'
 */
export function unknownGroup(group: string, where: string): OptionError {
  return new OptionError(
    'group',
    `There is no group '${group}' ${where}: a group is created when its first service starts`
  )
}

/**
 * Publishes events over the connection that the client has at the time. An engine implements how it stores an event,
 * and the management of dead letters.
 */
export abstract class PublishingStore<Connection extends StoreConnection, Event extends OutgoingEvent>
  implements ClientStore<Connection>
{
  /** The events that wait for their time. A store that keeps none leaves it out, and events with a time are refused. */
  readonly future?: FutureEvents | undefined
  protected readonly context: ClientContext
  /** Tells the time from which a `delay` counts; a store with a clock of its own replaces it. */
  protected readonly clock: Clock = systemClock
  /** Whether the server compares times with its own clock, so that also a time that has passed here is told to it. */
  protected readonly isTimedByServer: boolean = false
  /** The name of the store in errors. */
  readonly #title: string
  protected readonly publisher: Publisher<Event>
  /** Returns the connection; connects if there is none. */
  protected readonly connect: () => Promise<Connection>
  readonly #writer: CallWriter
  /** Prefix of the ids of events that were published without an id. */
  readonly #ids = `${newSecret()}${newSecret()}-`
  #nextId = 0

  protected constructor(
    { engine, context, connect, halted }: ClientStoreInit<Connection>,
    publisher: Omit<PublisherOptions, 'title' | 'halted'>
  ) {
    this.context = context
    this.connect = connect
    this.publisher = new Publisher({ title: engine.title, halted, ...publisher })
    this.#writer = new CallWriter(engine)
    this.#title = engine.title
  }

  abstract attach(connection: Connection): void
  abstract deadLetters(group: string): DeadLetters
  abstract hasGroup(group: string): Promise<boolean>
  abstract pauseGroup(group: string, isPaused: boolean): Promise<void>
  /** See `DurableCaller.backlog`. Default: the engine cannot show it. */
  backlog(group: string, _options?: ListBacklogOptions): AsyncIterable<BacklogEvent> {
    throw noBacklog(group, `${this.#title} cannot be read beside its handlers`)
  }

  /** See `DurableCaller.lag`. Default: a client cannot count what waits. */
  lag?(group: string): Promise<number>

  /**
   * Makes an event as the engine stores it.
   * @throws {OptionError} the engine cannot store the event
   */
  protected abstract outgoing(head: EventHead, content: EventContent): Event

  publish(pattern: Pattern, data: unknown, given: PublishOptions = {}): Promise<Published> {
    let event: Event
    try {
      checkPublishOptions(given)
      const options = given.within ? inheritedOptions(pattern, given, this.context.timeout) : given
      event = this.#outgoing(pattern, data, options)
    } catch (error) {
      return Promise.reject(error)
    }
    const published = this.publisher.publish(event)
    if (!this.publisher.isAttached) this.connect().catch((error: Error) => this.publisher.failWaiting(error))
    return published
  }

  #outgoing(pattern: Pattern, data: unknown, options: PublishOptions): Event {
    const { id = this.#newId(), timeout: given, signal, key, headers: own } = options
    const timeout = timeoutOf(given, this.context.timeout)
    try {
      const { address, head, json, headers } = this.#writer.write({
        kind: 'event',
        pattern,
        data,
        headers: own
      })
      const directed = directedHeaders(options[GROUPS])
      const isOwnId = options.id === undefined
      if (hasTime(options) && this.future === undefined) throw noFuture(this.#title)
      const due = dueOf(options, this.clock.now(), this.isTimedByServer)
      return this.outgoing(
        {
          pattern: nameOf(pattern),
          address,
          id,
          isOwnId,
          timeout,
          signal: signal ?? undefined,
          ...(due !== undefined && { due, steadyDue: options.delay && performance.now() + options.delay })
        },
        { json, packet: eventOf(head, json), key, headers: directed ? { ...headers, ...directed } : headers }
      )
    } catch (error) {
      throw unsendable(error)
    }
  }

  /** Makes an id that no other client makes. */
  #newId(): string {
    return `${this.#ids}${this.#nextId++}`
  }

  restored(): void {
    this.publisher.restored()
  }

  detach(): void {
    this.publisher.detach()
  }

  close(error: Error, unsent: Error): void {
    this.publisher.close(error, unsent)
  }
}
