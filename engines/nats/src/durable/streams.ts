/**
 * The streams of JetStream: creates missing streams, and changes existing ones where this is safe; other differences
 * are refused.
 */
import { type Logger, OptionError, routeMatches } from '@elysia-microservices/transport/kit'
import { RetentionPolicy, StorageType, type StreamConfig, type StreamInfo } from '@nats-io/jetstream'
import type { NatsConnection } from '../connection/nats-connection.ts'
import type { JetStream } from '../driver.ts'
import type { DurableStorage } from '../options/durable-options.ts'
import { isMissing, readableError } from './jetstream-errors.ts'
import { AGAIN, AGAIN_STREAM, DEAD, DEAD_STREAM, streamName } from './names.ts'

export const NANOSECONDS = 1_000_000

/** The connection and settings with which streams are created. */
export interface StreamsOptions {
  readonly connection: NatsConnection
  readonly storage: DurableStorage
  readonly logger: Logger
}

/** The streams of a server, over one connection. */
export class Streams {
  /** The streams and consumers of the server. */
  readonly jetStream: JetStream
  readonly #storage: DurableStorage
  readonly #logger: Logger

  private constructor(jetStream: JetStream, { storage, logger }: StreamsOptions) {
    this.jetStream = jetStream
    this.#storage = storage
    this.#logger = logger
  }

  /** Asks the server for JetStream. @throws {NotStoredError} JetStream is off, or not ready */
  static async open(options: StreamsOptions): Promise<Streams> {
    try {
      return new Streams(await options.connection.jetStream(), options)
    } catch (error) {
      throw readableError(error, `NATS at ${options.connection.server}`)
    }
  }

  /**
   * Returns the stream that stores a subject, which may have wildcards. A missing stream is created.
   * @throws {OptionError} the stream exists, with settings that contradict the options
   */
  async ensure(subject: string): Promise<string> {
    const { stream } = this.#storage
    const isIn = stream?.subjects.some((one) => covers(one, subject)) === true
    const wanted = isIn ? (stream as { name: string; subjects: readonly string[] }) : undefined
    const found = wanted?.name ?? (await this.#find(subject))
    const name = found ?? streamName(subject)
    return this.#ensureStream(name, wanted?.subjects ?? [subject])
  }

  /** Creates the streams of dead letters if they are missing. */
  async ensureDeadLetters(): Promise<void> {
    await this.#ensureOwn(DEAD_STREAM, `${DEAD}.>`, RetentionPolicy.Limits)
    await this.#ensureOwn(AGAIN_STREAM, `${AGAIN}.>`, RetentionPolicy.Workqueue)
  }

  async #find(subject: string): Promise<string | undefined> {
    const names: string[] = []
    try {
      for await (const { config } of this.jetStream.streams(subject)) {
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

  async #ensureStream(name: string, subjects: readonly string[]): Promise<string> {
    const { storage, replicas, maxAge, maxBytes, duplicateWindow } = this.#storage
    const config: Partial<StreamConfig> & { name: string } = {
      name,
      subjects: [...subjects],
      storage: storage === 'file' ? StorageType.File : StorageType.Memory,
      num_replicas: replicas,
      max_age: maxAge * NANOSECONDS,
      max_bytes: maxBytes === 0 ? -1 : maxBytes,
      duplicate_window: duplicateWindow * NANOSECONDS,
      // A full stream refuses new events: the publisher gets an error, and no stored event is deleted.
      discard: 'new'
    }
    const known = await this.#info(name)
    if (known === undefined) {
      try {
        await this.jetStream.addStream(config)
        return name
      } catch (error) {
        // Another process may have created the stream in between.
        const made = await this.#info(name)
        if (made === undefined) throw readableError(error, `The stream '${name}' for ${subjects.join(', ')}`)
        await this.#adapt(made, config)
        return name
      }
    }
    await this.#adapt(known, config)
    return name
  }

  /** Raises the limits of an existing stream. Refuses changes that would delete events or that NATS does not allow. */
  async #adapt(known: StreamConfig, wanted: Partial<StreamConfig>): Promise<void> {
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
    if (missing.length > 0) change.subjects = [...known.subjects, ...missing]
    if (set.has('storage') && known.storage !== wanted.storage)
      refused.push(`storage is '${known.storage}', not '${wanted.storage}'`)
    if (set.has('replicas') && known.num_replicas !== wanted.num_replicas)
      refused.push(`replicas is ${known.num_replicas}, not ${wanted.num_replicas}`)
    const widen = (option: string, key: 'max_age' | 'max_bytes' | 'duplicate_window', unit: number) => {
      if (!set.has(option)) return
      // A value of 0 means no limit, which is the widest.
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
        `The stream '${name}' exists with other settings than options.durable: ${refused.join('; ')}. Two services disagree, or it was made by hand: let the options agree with it, or change it with NATS's own tools`
      )
    if (Object.keys(change).length === 0) return
    this.#logger.warn(`The settings of the stream '${name}' are changed: ${JSON.stringify(change)}`)
    await this.jetStream.updateStream(name, change).catch((error: unknown) => {
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
      await this.jetStream.addStream(config)
    } catch (error) {
      if ((await this.#info(name)) === undefined) throw readableError(error, `The stream '${name}'`)
    }
  }

  /** @throws {NotStoredError} the stream does not exist */
  async infoOf(name: string): Promise<StreamInfo> {
    try {
      return await this.jetStream.stream(name)
    } catch (error) {
      throw readableError(error, `The stream '${name}'`)
    }
  }

  async #info(name: string): Promise<StreamConfig | undefined> {
    try {
      return (await this.jetStream.stream(name)).config
    } catch (error) {
      if (isMissing(error)) return undefined
      throw readableError(error, `The stream '${name}'`)
    }
  }
}

/** Whether a subject with wildcards matches all that another subject matches. */
export function covers(wide: string, narrow: string): boolean {
  return wide === narrow || (routeMatches(wide, narrow) && !(narrow.includes('>') && !wide.includes('>')))
}
