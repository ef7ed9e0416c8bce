/** Streams and consumers: made where they are missing, changed where that is safe, otherwise refused. */
import {
  ConnectionError,
  type DurableSettings,
  type Logger,
  MicroserviceError,
  NotStoredError,
  OptionError,
  routeMatches
} from '@elysia-microservices/transport/kit'
import {
  AckPolicy,
  type ConsumerConfig,
  type ConsumerInfo,
  DeliverPolicy,
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { DurableStorage } from '../options/durable-options.ts'
import { adviceOnFull } from './full.ts'
import { AGAIN, AGAIN_STREAM, consumerName, DEAD, DEAD_STREAM, streamName } from './names.ts'

const NANOSECONDS = 1_000_000
/** Deliveries of a group that are neither acknowledged nor given up, over all its processes. */
const MAX_PENDING = 20_000
/** The same in order: as many as a new process must be able to hold until it knows that they are all. */
export const MAX_PENDING_IN_ORDER = 2_000
/** The priority group of ordered consumers; one process at a time is served. */
export const PINNED = 'one'
/** Milliseconds after which a silent process is not served any more. */
export const PIN_TIME = 10_000

/** A consumer that is there. */
export interface Subscription {
  readonly stream: string
  readonly consumer: string
}

/** Where a group stands: what one must know to go on there if its consumer has to be created again. */
export interface Standpoint {
  readonly stream: string
  /** When the streams and the consumer were made: another time is another one of the same name. */
  readonly streamMadeAt: string
  readonly againMadeAt: string
  readonly consumerMadeAt: string
  /** All events up to this number are done. */
  readonly done: number
  /** A new consumer is as paused as the previous one. */
  readonly pausedUntil?: string | undefined
}

/** What a group has at the server. */
export interface Group {
  readonly main: Subscription
  readonly again: Subscription
  readonly standpoint: Standpoint
}

/** What the driver needs to be asked. */
export interface StreamsOptions {
  readonly connection: NatsConnection
  readonly storage: DurableStorage
  readonly logger: Logger
}

/** Streams and consumers of one connection. */
export class Streams {
  readonly #manager: JetStreamManager
  readonly #storage: DurableStorage
  readonly #logger: Logger

  private constructor(manager: JetStreamManager, { storage, logger }: StreamsOptions) {
    this.#manager = manager
    this.#storage = storage
    this.#logger = logger
  }

  /** @throws {NotStoredError} the server has no JetStream, or not now */
  static async open(options: StreamsOptions): Promise<Streams> {
    try {
      return new Streams(await jetstreamManager(options.connection), options)
    } catch (error) {
      throw readableError(error, `NATS at ${options.connection.getServer()}`)
    }
  }

  get manager(): JetStreamManager {
    return this.#manager
  }

  /**
   * The stream that stores a subject, which may have wildcards; made if there is none.
   * @throws {OptionError} it is there, and not as the options want it
   */
  async ensure(subject: string): Promise<string> {
    const { stream } = this.#storage
    const isIn = stream?.subjects.some((one) => covers(one, subject)) === true
    const wanted = isIn ? (stream as { name: string; subjects: readonly string[] }) : undefined
    const found = wanted?.name ?? (await this.#find(subject))
    const name = found ?? streamName(subject)
    return this.#ensureStream(
      name,
      wanted?.subjects ?? [subject],
      found !== undefined && wanted === undefined
    )
  }

  /** The streams of dead letters. */
  async ensureDeadLetters(): Promise<void> {
    await this.#ensureOwn(DEAD_STREAM, `${DEAD}.>`, RetentionPolicy.Limits)
    await this.#ensureOwn(AGAIN_STREAM, `${AGAIN}.>`, RetentionPolicy.Workqueue)
  }

  /**
   * The consumers of a group for a pattern.
   * @param last where the group stood when it was last seen: it goes on there, and at the beginning of another stream
   * @throws {OptionError} they are there with other settings
   */
  async ensureConsumers(
    subject: string,
    group: string,
    settings: DurableSettings,
    last?: Standpoint
  ): Promise<Group> {
    const stream = await this.ensure(subject)
    await this.ensureDeadLetters()
    const consumer = consumerName(group, subject)
    const known = await this.#infoOf(stream)
    const start = last === undefined ? startOf(settings.start) : resumeAt(last, known)
    const info = await this.#ensureConsumer(stream, subject, consumer, group, settings, start)
    // Nothing has been delivered yet: it is new, and another one may have done its work.
    if (last === undefined && info.delivered.consumer_seq === 0)
      await this.#sayWhatIsLeftBehind(stream, subject, group, consumer)
    await this.#ensureAgain(consumer, group)
    return {
      main: { stream, consumer },
      again: { stream: AGAIN_STREAM, consumer },
      standpoint: {
        stream,
        streamMadeAt: known.created,
        againMadeAt: (await this.#infoOf(AGAIN_STREAM)).created,
        consumerMadeAt: info.created,
        done: info.ack_floor.stream_seq
      }
    }
  }

  /** The consumers of a group, in all streams. */
  async consumersOf(group: string): Promise<ConsumerInfo[]> {
    const found: ConsumerInfo[] = []
    try {
      for await (const { config } of this.#manager.streams.list())
        for await (const info of this.#manager.consumers.list(config.name))
          if (info.config.metadata?.['elysia-group'] === group) found.push(info)
    } catch (error) {
      throw readableError(error, `The group '${group}'`)
    }
    return found
  }

  /**
   * Says which consumers of a stream nobody asks for events, and that may have done the work of a new one: of the same
   * pattern for a service that was renamed, or of the same group for a pattern that has become narrower.
   */
  async #sayWhatIsLeftBehind(
    stream: string,
    subject: string,
    group: string,
    consumer: string
  ): Promise<void> {
    try {
      for await (const {
        name,
        config,
        num_waiting,
        num_pending,
        num_ack_pending
      } of this.#manager.consumers.list(stream)) {
        const other = config.metadata?.['elysia-group']
        if (name === consumer || other === undefined || num_waiting > 0) continue
        const events = num_pending + num_ack_pending
        const remedy = `If nobody needs it any more, delete it: nats consumer rm ${stream} ${name}`
        const filter = config.filter_subject ?? ''
        if (other !== group && filter === subject && events > 0)
          this.#logger.warn(
            `${events} events '${subject}' wait for the group '${other}', which no process handles at the moment; the group '${group}' is new and does not get them. If a service was renamed, give its handler durable.group '${other}'. ${remedy}`
          )
        else if (other === group && filter !== subject && covers(filter, subject))
          this.#logger.warn(
            `The group '${group}' handled '${filter}' until now, and '${subject}' from now on: the consumer '${name}' stays behind with ${events} events that nobody handles. ${remedy}`
          )
      }
    } catch (error) {
      this.#logger.warn(`It could not be seen what else is in the stream '${stream}'`, error)
    }
  }

  async #find(subject: string): Promise<string | undefined> {
    const names: string[] = []
    try {
      for await (const { config } of this.#manager.streams.list(subject)) {
        names.push(config.name)
        if (config.subjects.some((one) => covers(one, subject))) return config.name
      }
    } catch (error) {
      throw readableError(error, `The stream for '${subject}'`)
    }
    if (names.length === 0) return undefined
    throw new OptionError(
      'options.durable.stream',
      `'${subject}' is stored by the streams ${names.join(', ')}, each only a part of it; give nats() durable.stream with subjects that cover all of it, or handle its parts one by one`
    )
  }

  async #ensureStream(name: string, subjects: readonly string[], isForeign: boolean): Promise<string> {
    const { storage, replicas, maxAge, maxBytes, duplicateWindow } = this.#storage
    const config: Partial<StreamConfig> & { name: string } = {
      name,
      subjects: [...subjects],
      storage: storage === 'file' ? StorageType.File : StorageType.Memory,
      num_replicas: replicas,
      max_age: maxAge * NANOSECONDS,
      max_bytes: maxBytes === 0 ? -1 : maxBytes,
      duplicate_window: duplicateWindow * NANOSECONDS,
      // Full is full: the publisher learns it, and nothing that is stored is lost.
      discard: 'new'
    }
    const known = await this.#info(name)
    if (known === undefined) {
      try {
        await this.#manager.streams.add(config)
        return name
      } catch (error) {
        // Another process may have made it meanwhile.
        const made = await this.#info(name)
        if (made === undefined) throw readableError(error, `The stream '${name}' for ${subjects.join(', ')}`)
        await this.#adapt(made, config, isForeign)
        return name
      }
    }
    await this.#adapt(known, config, isForeign)
    return name
  }

  /** Widens a stream that is there; refuses what would lose events or cannot be. */
  async #adapt(known: StreamConfig, wanted: Partial<StreamConfig>, isForeign: boolean): Promise<void> {
    const { name } = known
    if (known.no_ack)
      throw new OptionError(
        'options.durable',
        `The stream '${name}' has no_ack, so nobody learns whether an event is stored`
      )
    const { set } = this.#storage
    const refused: string[] = []
    const change: Partial<StreamConfig> = {}
    const missing = (wanted.subjects ?? []).filter(
      (one) => !known.subjects.some((given) => covers(given, one))
    )
    if (missing.length > 0 && !isForeign) change.subjects = [...known.subjects, ...missing]
    if (set.has('storage') && known.storage !== wanted.storage)
      refused.push(`storage is '${known.storage}', not '${wanted.storage}'`)
    if (set.has('replicas') && known.num_replicas !== wanted.num_replicas)
      refused.push(`replicas is ${known.num_replicas}, not ${wanted.num_replicas}`)
    const widen = (option: string, key: 'max_age' | 'max_bytes' | 'duplicate_window', unit: number) => {
      if (!set.has(option)) return
      // None is the widest.
      const width = (value: number) =>
        value <= 0 && key !== 'duplicate_window' ? Number.POSITIVE_INFINITY : value
      const [is, should] = [width(known[key]), width(wanted[key] as number)]
      if (should > is) change[key] = wanted[key] as number
      else if (should < is) refused.push(`${option} is ${is / unit}, and ${should / unit} would be less`)
    }
    widen('maxAge', 'max_age', NANOSECONDS)
    widen('maxBytes', 'max_bytes', 1)
    widen('duplicateWindow', 'duplicate_window', NANOSECONDS)
    if (refused.length > 0)
      throw new OptionError(
        'options.durable',
        `The stream '${name}' is there, and not as options.durable wants it: ${refused.join('; ')}. Two services disagree, or it was made by hand: let the options agree with it, or change it with NATS's own tools`
      )
    if (Object.keys(change).length === 0) return
    this.#logger.warn(`The stream '${name}' is changed: ${JSON.stringify(change)}`)
    await this.#manager.streams.update(name, change).catch((error: unknown) => {
      throw readableError(error, `The stream '${name}'`)
    })
  }

  async #ensureOwn(name: string, subject: string, retention: RetentionPolicy): Promise<void> {
    if ((await this.#info(name)) !== undefined) return
    const { storage, replicas } = this.#storage
    const config = {
      name,
      subjects: [subject],
      retention,
      storage: storage === 'file' ? StorageType.File : StorageType.Memory,
      num_replicas: replicas
    }
    try {
      await this.#manager.streams.add(config)
    } catch (error) {
      if ((await this.#info(name)) === undefined) throw readableError(error, `The stream '${name}'`)
    }
  }

  async #infoOf(name: string): Promise<StreamInfo> {
    try {
      return await this.#manager.streams.info(name)
    } catch (error) {
      throw readableError(error, `The stream '${name}'`)
    }
  }

  async #info(name: string): Promise<StreamConfig | undefined> {
    try {
      return (await this.#manager.streams.info(name)).config
    } catch (error) {
      if (isMissing(error)) return undefined
      throw readableError(error, `The stream '${name}'`)
    }
  }

  async #ensureConsumer(
    stream: string,
    subject: string,
    name: string,
    group: string,
    settings: DurableSettings,
    start: Partial<ConsumerConfig>
  ): Promise<ConsumerInfo> {
    const { ordered, retry } = settings
    const said = JSON.stringify({ retry, ackWait: this.#storage.ackWait })
    const config: ConsumerConfig = {
      durable_name: name,
      filter_subject: subject,
      ack_policy: AckPolicy.Explicit,
      ack_wait: this.#storage.ackWait * NANOSECONDS,
      max_deliver: -1,
      max_ack_pending: ordered ? MAX_PENDING_IN_ORDER : MAX_PENDING,
      metadata: { 'elysia-group': group, 'elysia-settings': said },
      ...start,
      ...(ordered && {
        priority_groups: [PINNED],
        priority_policy: 'pinned_client',
        priority_timeout: PIN_TIME * NANOSECONDS
      })
    } as ConsumerConfig
    const known = await this.#consumer(stream, name)
    if (known === undefined) {
      try {
        return await this.#manager.consumers.add(stream, config)
      } catch (error) {
        const made = await this.#consumer(stream, name)
        if (made === undefined) throw readableError(error, `The group '${group}' for '${subject}'`)
        return this.#agree(stream, made, config, group, said)
      }
    }
    return this.#agree(stream, known, config, group, said)
  }

  async #agree(
    stream: string,
    known: ConsumerInfo,
    wanted: ConsumerConfig,
    group: string,
    said: string
  ): Promise<ConsumerInfo> {
    const isOrdered = known.config.priority_policy === 'pinned_client'
    const wantsOrdered = wanted.priority_policy === 'pinned_client'
    if (isOrdered !== wantsOrdered)
      throw new OptionError(
        'options.durable.ordered',
        `The group '${group}' handles '${wanted.filter_subject}' already with ordered: ${isOrdered}, and this service wants ordered: ${wantsOrdered}; let them agree, or give one another group`
      )
    const before = known.config.metadata?.['elysia-settings']
    if (before === said) return known
    this.#logger.warn(
      `The group '${group}' handles '${wanted.filter_subject}' with ${before ?? 'other settings'} elsewhere, and here with ${said}; processes of one group should agree`
    )
    const { ack_wait, max_ack_pending, metadata } = wanted
    await this.#manager.consumers
      .update(stream, known.name, { ...known.config, ack_wait, max_ack_pending, metadata } as ConsumerConfig)
      .catch((error: unknown) => {
        throw readableError(error, `The group '${group}' for '${wanted.filter_subject}'`)
      })
    return known
  }

  async #ensureAgain(name: string, group: string): Promise<void> {
    if ((await this.#consumer(AGAIN_STREAM, name)) !== undefined) return
    const config = {
      durable_name: name,
      filter_subject: `${AGAIN}.${name}`,
      ack_policy: AckPolicy.Explicit,
      ack_wait: this.#storage.ackWait * NANOSECONDS,
      max_deliver: -1,
      deliver_policy: DeliverPolicy.All,
      metadata: { 'elysia-group': group }
    }
    try {
      await this.#manager.consumers.add(AGAIN_STREAM, config)
    } catch (error) {
      if ((await this.#consumer(AGAIN_STREAM, name)) === undefined)
        throw readableError(error, `The redriven dead letters of the group '${group}'`)
    }
  }

  async #consumer(stream: string, name: string): Promise<ConsumerInfo | undefined> {
    try {
      return await this.#manager.consumers.info(stream, name)
    } catch (error) {
      if (isMissing(error)) return undefined
      throw readableError(error, `The stream '${stream}'`)
    }
  }
}

function startOf(start: DurableSettings['start']): Partial<ConsumerConfig> {
  if (start === 'new') return { deliver_policy: DeliverPolicy.New }
  if (start === 'all') return { deliver_policy: DeliverPolicy.All }
  if ('since' in start)
    return { deliver_policy: DeliverPolicy.StartTime, opt_start_time: start.since.toISOString() }
  const position = Number(start.after)
  if (!Number.isSafeInteger(position) || position < 0)
    throw OptionError.expected('options.durable.start.after', 'a position that publish() gave', start.after)
  return { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: position + 1 }
}

function resumeAt(last: Standpoint, { config, created }: StreamInfo): Partial<ConsumerConfig> {
  const isSame = config.name === last.stream && created === last.streamMadeAt
  // A queue knows no other start: what is done is not in it any more.
  const pause = last.pausedUntil === undefined ? {} : { pause_until: last.pausedUntil }
  if (!isSame || config.retention === RetentionPolicy.Workqueue)
    return { deliver_policy: DeliverPolicy.All, ...pause }
  return { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: last.done + 1, ...pause }
}

/** Whether a subject with wildcards stands for all that another stands for. */
function covers(wide: string, narrow: string): boolean {
  return wide === narrow || (routeMatches(wide, narrow) && !(narrow.includes('>') && !wide.includes('>')))
}

/** Whether what was asked for is not there. */
export function isMissing(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.apiError().code === 404
}

/** Whether a stream has no message of that number. */
export function isNoSequence(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.apiError().err_code === NO_SEQUENCE
}

const NO_SEQUENCE = 10_043

/** Whether there is no JetStream at all: a server that was started without it, or that is not ready. */
export function isOff(error: unknown): boolean {
  return /jetstream.*not enabled|no responders/i.test(
    `${(error as Error)?.name} ${(error as Error)?.message}`
  )
}

/** What the driver says, as one of our errors. */
export function readableError(error: unknown, what: string): Error {
  if (error instanceof MicroserviceError) return error
  const cause = error as Error
  if (error instanceof JetStreamApiError) {
    const { code, err_code, description: message } = error.apiError()
    if (code === 503 && /not enabled/i.test(message)) return noJetStream(what, cause)
    const advice = adviceOnFull(message)
    return new NotStoredError(
      `${what}: NATS says '${message}' (${err_code})${advice === undefined ? '' : `; ${advice}`}`,
      code >= 500 || code === 429,
      cause
    )
  }
  if (/jetstream.*not enabled|no responders|503/i.test(`${cause?.name} ${cause?.message}`))
    return noJetStream(what, cause)
  return new ConnectionError(`${what}: JetStream does not answer (${cause?.message})`, false, cause)
}

function noJetStream(what: string, cause: Error): NotStoredError {
  return new NotStoredError(
    `${what}: JetStream, which stores events, is off, or is not ready yet; start nats-server with -js (and -sd for a folder)`,
    true,
    cause
  )
}
