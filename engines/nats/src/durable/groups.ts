/** The consumers that JetStream keeps for groups: creates the missing ones, and reads their positions. */
import { type DurableSettings, type Logger, OptionError } from '@elysia-microservices/transport/kit'
import {
  AckPolicy,
  type ConsumerConfig,
  type ConsumerInfo,
  DeliverPolicy,
  RetentionPolicy,
  type StreamInfo
} from '@nats-io/jetstream'
import type { JetStream } from '../driver.ts'
import type { DurableStorage } from '../options/durable-options.ts'
import { needsNotes, noteSeen, sayWhatWasDeleted } from './gaps.ts'
import { isForbidden, isMissing, readableError } from './jetstream-errors.ts'
import { sayWhatIsLeftBehind, sayWhatIsSkipped } from './left-behind.ts'
import { AGAIN, AGAIN_STREAM, consumerName, type Subscription } from './names.ts'
import { NANOSECONDS, type Streams } from './streams.ts'

/** Messages that JetStream delivers to all processes of a group before some are acknowledged. */
const MAX_PENDING = 20_000
/**
 * The same for an ordered handler. A process that begins must be able to hold this many events until it knows that it
 * has all.
 */
export const MAX_PENDING_IN_ORDER = 2_000
/** The priority group of an ordered consumer: JetStream serves one of its processes at a time. */
export const PINNED = 'one'
/** Milliseconds without a request, after which JetStream serves another process. */
export const PIN_TIME = 10_000

/** The entry of a consumer's metadata with what `noteRuns` stores. */
const RUNS = 'elysia-runs'

export function runsIn({ config }: ConsumerInfo): string | undefined {
  return config.metadata?.[RUNS]
}

/** The position of a group, with all that is needed to go on there if its consumer has to be created again. */
export interface Standpoint {
  readonly stream: string
  /**
   * The times at which the streams and the consumer were created. Another time means that one of the same name was
   * created again.
   */
  readonly streamMadeAt: string
  readonly againMadeAt: string
  readonly consumerMadeAt: string
  /** All events up to this sequence number are done. */
  readonly done: number
  /** The end of the group's pause: a new consumer gets the same pause. */
  readonly pausedUntil?: string | undefined
}

/** A group at the server: its consumers for published and for redriven events, and its position. */
export interface Group {
  readonly main: Subscription
  readonly again: Subscription
  readonly standpoint: Standpoint
  /** The note that `noteRuns` has stored; `undefined`: none. */
  readonly runs: string | undefined
  /** Milliseconds for which the stream keeps events; 0: for ever. */
  readonly maxAge: number
  /** Whether a process that leaves the group calls `left`. */
  readonly needsNotes: boolean
}

/** The groups of a server, over one connection. */
export class Groups {
  readonly #streams: Streams
  readonly #settings: { readonly storage: DurableStorage; readonly logger: Logger }

  constructor(streams: Streams, settings: { readonly storage: DurableStorage; readonly logger: Logger }) {
    this.#streams = streams
    this.#settings = settings
  }

  get #jetStream(): JetStream {
    return this.#streams.jetStream
  }

  /**
   * The server's information on a consumer.
   * @throws the driver's error
   */
  info({ stream, consumer }: Subscription): Promise<ConsumerInfo> {
    return this.#jetStream.consumer(stream, consumer)
  }

  /** Stores how often events were delivered before their handlers began; see `Runs`. @throws the driver's error */
  async noteRuns(subscription: Subscription, text: string): Promise<void> {
    const { stream, consumer } = subscription
    const { config } = await this.info(subscription)
    const metadata = { ...config.metadata, [RUNS]: text }
    await this.#jetStream.updateConsumer(stream, consumer, { ...config, metadata } as ConsumerConfig)
  }

  /** The group leaves; see `noteSeen`. @throws the driver's error */
  left(subscription: Subscription): Promise<void> {
    return noteSeen(this.#jetStream, subscription)
  }

  /** Lets the server serve another process of an ordered group at once. @throws the driver's error */
  async unpin({ stream, consumer }: Subscription): Promise<void> {
    await this.#jetStream.unpin(stream, consumer, PINNED)
  }

  /**
   * Returns the consumers of a group for a pattern. Missing ones are created.
   * @param last the last known position of the group: the group goes on there, or at the beginning of the stream if
   * the stream is another one
   * @throws {OptionError} a consumer exists with other settings
   */
  async ensure(subject: string, group: string, settings: DurableSettings, last?: Standpoint): Promise<Group> {
    const stream = await this.#streams.ensure(subject)
    await this.#streams.ensureDeadLetters()
    const consumer = consumerName(group, subject)
    const known = await this.#streams.infoOf(stream)
    const start = last === undefined ? startOf(settings.start) : resumeAt(last, known)
    const ensure = () => this.#ensureConsumer(stream, subject, consumer, group, settings, start)
    const ensured = await ensure()
    let { info } = ensured
    if (last !== undefined && info.created !== last.consumerMadeAt) {
      const first = start.opt_start_seq ?? 1
      if (await this.#makesWay(info, subject, first, group)) info = (await ensure()).info
    }
    // The consumer is new, as nothing was delivered yet. Another consumer may have done its work until now.
    if (last === undefined) {
      if (info.delivered.consumer_seq === 0) {
        const made = { info, group, start: settings.start, ...this.#settings }
        if (ensured.isNew && settings.start === 'new') await sayWhatIsSkipped(this.#jetStream, made)
        await sayWhatIsLeftBehind(this.#jetStream, made)
      }
      sayWhatWasDeleted(known, info, group, this.#settings.logger)
    }
    await this.#ensureAgain(consumer, group)
    return {
      main: { stream, consumer },
      again: { stream: AGAIN_STREAM, consumer },
      runs: runsIn(info),
      maxAge: known.config.max_age / NANOSECONDS,
      needsNotes: needsNotes(known, subject),
      standpoint: {
        stream,
        streamMadeAt: known.created,
        againMadeAt: (await this.#streams.infoOf(AGAIN_STREAM)).created,
        consumerMadeAt: info.created,
        done: info.ack_floor.stream_seq
      }
    }
  }

  /**
   * Deletes a consumer that would skip events which the group has not had: the process that has created it had just
   * started, and did not know the group's position.
   * @param first the number from which the group has not had the events of its stream
   * @returns whether the consumer may be gone now
   */
  async #makesWay(info: ConsumerInfo, subject: string, first: number, group: string): Promise<boolean> {
    const { stream_name: stream, name, created, config } = info
    const { deliver_policy: policy, opt_start_time: since = created } = config
    if (policy !== DeliverPolicy.New && policy !== DeliverPolicy.StartTime) return false
    try {
      const next = await this.#jetStream.message(stream, { seq: first, next_by_subj: subject })
      // The times that the driver gives are exact to a millisecond only.
      return (
        next !== null && next.time <= new Date(since) && (await this.#jetStream.deleteConsumer(stream, name))
      )
    } catch (error) {
      // There is no such event, or another process has deleted the consumer.
      if (isMissing(error)) return true
      if (!isForbidden(error)) throw readableError(error, `The group '${group}' for '${subject}'`)
      this.#settings.logger.warn(
        `The consumer '${name}' was deleted, and a process that has just started has created it again: the group '${group}' may have missed events '${subject}'. With the rights to publish to $JS.API.STREAM.MSG.GET.${stream} and $JS.API.CONSUMER.DELETE.${stream}.${name}, it would get them`,
        error
      )
      return false
    }
  }

  async #ensureConsumer(
    stream: string,
    subject: string,
    name: string,
    group: string,
    settings: DurableSettings,
    start: Partial<ConsumerConfig>
  ): Promise<{ readonly info: ConsumerInfo; readonly isNew: boolean }> {
    const { ordered, retry } = settings
    const said = JSON.stringify({ retry, ackWait: this.#settings.storage.ackWait })
    const config: ConsumerConfig = {
      durable_name: name,
      filter_subject: subject,
      ack_policy: AckPolicy.Explicit,
      ack_wait: this.#settings.storage.ackWait * NANOSECONDS,
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
        return { info: await this.#jetStream.addConsumer(stream, config), isNew: true }
      } catch (error) {
        const made = await this.#consumer(stream, name)
        if (made === undefined) throw readableError(error, `The group '${group}' for '${subject}'`)
        return { info: await this.#agree(stream, made, config, group, said), isNew: false }
      }
    }
    return { info: await this.#agree(stream, known, config, group, said), isNew: false }
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
    this.#settings.logger.warn(
      `The group '${group}' handles '${wanted.filter_subject}' with ${before ?? 'other settings'} in other processes, and with ${said} in this process; all processes of a group should have the same settings`
    )
    const { ack_wait, max_ack_pending } = wanted
    const metadata = { ...known.config.metadata, ...wanted.metadata }
    await this.#jetStream
      .updateConsumer(stream, known.name, {
        ...known.config,
        ack_wait,
        max_ack_pending,
        metadata
      } as ConsumerConfig)
      .catch((error: unknown) => {
        throw readableError(error, `The group '${group}' for '${wanted.filter_subject}'`)
      })
    return known
  }

  async #ensureAgain(name: string, group: string): Promise<void> {
    const ack_wait = this.#settings.storage.ackWait * NANOSECONDS
    const known = await this.#consumer(AGAIN_STREAM, name)
    if (known?.config.ack_wait === ack_wait) return
    if (known !== undefined) {
      const config = { ...known.config, ack_wait }
      await this.#jetStream.updateConsumer(AGAIN_STREAM, name, config).catch((error: unknown) => {
        throw readableError(error, `The redriven dead letters of the group '${group}'`)
      })
      return
    }
    const config = {
      durable_name: name,
      filter_subject: `${AGAIN}.${name}`,
      ack_policy: AckPolicy.Explicit,
      ack_wait,
      max_deliver: -1,
      deliver_policy: DeliverPolicy.All,
      metadata: { 'elysia-group': group }
    }
    try {
      await this.#jetStream.addConsumer(AGAIN_STREAM, config)
    } catch (error) {
      if ((await this.#consumer(AGAIN_STREAM, name)) === undefined)
        throw readableError(error, `The redriven dead letters of the group '${group}'`)
    }
  }

  async #consumer(stream: string, name: string): Promise<ConsumerInfo | undefined> {
    try {
      return await this.#jetStream.consumer(stream, name)
    } catch (error) {
      if (isMissing(error)) return undefined
      throw readableError(error, `The stream '${stream}'`)
    }
  }
}

/** The consumers of a group, in all streams. @throws {NotStoredError} JetStream does not list them */
export async function consumersOf(jetStream: JetStream, group: string): Promise<ConsumerInfo[]> {
  const found: ConsumerInfo[] = []
  try {
    for await (const { config } of jetStream.streams())
      for await (const info of jetStream.consumers(config.name))
        if (info.config.metadata?.['elysia-group'] === group) found.push(info)
  } catch (error) {
    throw readableError(error, `The group '${group}'`)
  }
  return found
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
  // A stream with the retention of a work queue allows no other start; events that are done are no longer in it.
  const pause = last.pausedUntil === undefined ? {} : { pause_until: last.pausedUntil }
  if (!isSame || config.retention === RetentionPolicy.Workqueue)
    return { deliver_policy: DeliverPolicy.All, ...pause }
  return { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: last.done + 1, ...pause }
}
