/**
 * Publishes copies of events to other queues, and waits for the server's confirmation; only then is the event itself
 * acknowledged.
 */
import { type Logger, NotStoredError, quietLog } from '@elysia-microservices/transport/kit'
import type { Link, Part } from '../connection/link.ts'
import type { DriverChannel, Properties } from '../driver.ts'
import { exchangeOf } from '../words/names.ts'
import { uniqueOf } from './stored.ts'

/** Publishes to queues of groups by their names. */
export class Copies {
  readonly #link: Link
  readonly #logger: Logger
  #part: Part | undefined
  /**
   * Copies that no queue has taken, by channel, and by queue and event: RabbitMQ returns such a copy before it confirms
   * it.
   */
  readonly #returned = new WeakMap<DriverChannel, Set<string>>()
  /** A channel on which a copy was not confirmed in time; another one is being opened. */
  #silent: DriverChannel | undefined

  private constructor(link: Link, logger: Logger) {
    this.#link = link
    this.#logger = logger
  }

  static async open(link: Link, logger: Logger): Promise<Copies> {
    const copies = new Copies(link, logger)
    const setUp = async (channel: DriverChannel) => {
      const returned = new Set<string>()
      copies.#returned.set(channel, returned)
      channel.whenReturned(({ fields, properties }) => returned.add(placeOf(fields.routingKey, properties)))
    }
    copies.#part = await link.open(setUp, { isConfirmed: true })
    return copies
  }

  /**
   * Publishes a message. Resolves when the queue has stored it. A confirmation may take long, for example while the
   * server has no memory or the queue has no leader: a message that was given up would still be stored afterwards, and
   * its event would run twice.
   * @param options with `mandatory`
   * @throws {NotStoredError} the message was not stored; or it is not known whether it was, because its channel was
   * lost, or has been silent while 16 others were replaced after it
   */
  async put(group: string, queue: string, content: Buffer, options: Properties): Promise<void> {
    const channel = this.#part?.channel
    if (channel === undefined) throw notStored(queue)
    const { heartbeat } = this.#link
    const late = setTimeout(() => {
      const perhaps = 'perhaps it has no memory or no disk space left, or the queue has no leader'
      quietLog(this.#logger).warn(
        'late copy',
        `RabbitMQ has not confirmed within ${heartbeat} ms that a message is stored in '${queue}': ${perhaps}; see its log`
      )
      void this.#replace(channel)
    }, heartbeat)
    const stored = new Promise<void>((resolve, reject) => {
      channel.publish(exchangeOf(group), queue, content, options, (error: unknown) =>
        error ? reject(notStored(queue, error)) : resolve()
      )
    })
    await stored.finally(() => clearTimeout(late))
    if (this.#returned.get(channel)?.delete(placeOf(queue, options)) === true)
      throw new NotStoredError(`RabbitMQ has no queue '${queue}' at the moment`, true)
  }

  /**
   * Opens a new channel for later copies, in place of one that is silent: when a server of a cluster is lost, RabbitMQ
   * 3.10 may leave a channel without answers for a minute.
   */
  async #replace(silent: DriverChannel): Promise<void> {
    if (this.#part?.channel !== silent || this.#silent === silent) return
    this.#silent = silent
    // If this fails, the silent channel stays in use until the next copy is late.
    await this.#part.replace().catch(() => {})
    this.#silent = undefined
  }
}

function notStored(queue: string, cause?: unknown): NotStoredError {
  return new NotStoredError(`RabbitMQ does not store a message in '${queue}' now`, true, cause)
}

function placeOf(queue: string, properties: Parameters<typeof uniqueOf>[0]): string {
  return `${queue} ${uniqueOf(properties)}`
}
