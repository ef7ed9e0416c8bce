/** Subscribes to the channels on which NestJS services answer, as long as calls need them. */
import { repeat } from '@elysia-microservices/engine'
import type { DriverConnection } from '../driver.ts'

/**
 * Milliseconds between searches for channels that no call needs. Calls that follow each other share one subscription.
 */
const SWEEP = 1_000

interface Heard {
  /** The beginnings of the reply addresses of the calls that wait on the channel. */
  readonly calls: Set<string>
  /** Resolves when the server has confirmed the subscription. */
  readonly subscribed: Promise<void>
  /** Whether no call needed the channel at the last search. */
  isIdle: boolean
}

/** The channels of answers of one connection. */
export class NestAnswers {
  readonly #driver: DriverConnection
  readonly #channels = new Map<string, Heard>()
  readonly #channelOf = new Map<string, string>()
  #endSweeps: (() => void) | undefined

  constructor(driver: DriverConnection) {
    this.#driver = driver
  }

  /** Whether a call waits for an answer. */
  get isNeeded(): boolean {
    return this.#channelOf.size > 0
  }

  has(channel: string): boolean {
    return this.#channels.has(channel)
  }

  /** Subscribes to a channel for a call. Resolves when the server has confirmed the subscription. */
  hear(channel: string, reply: string): Promise<void> {
    let heard = this.#channels.get(channel)
    if (heard === undefined) {
      heard = { calls: new Set(), subscribed: this.#driver.subscribe(channel), isIdle: false }
      this.#channels.set(channel, heard)
      heard.subscribed.catch(() => this.#channels.delete(channel))
      this.#endSweeps ??= repeat(() => this.sweep(), SWEEP)
    }
    const head = headOf(reply)
    heard.calls.add(head)
    this.#channelOf.set(head, channel)
    return heard.subscribed
  }

  /** Notes that a call is over. */
  over(head: string): void {
    const channel = this.#channelOf.get(head)
    if (channel === undefined) return
    this.#channelOf.delete(head)
    this.#channels.get(channel)?.calls.delete(head)
  }

  close(): void {
    this.#endSweeps?.()
  }

  /** Ends the subscriptions that no call has needed since the last search. */
  sweep(): void {
    const idle: string[] = []
    for (const [channel, heard] of this.#channels) {
      if (heard.isIdle && heard.calls.size === 0) idle.push(channel)
      heard.isIdle = heard.calls.size === 0
    }
    for (const channel of idle) this.#channels.delete(channel)
    if (idle.length > 0) this.#driver.unsubscribe(idle, []).catch(() => {})
    if (this.#channels.size > 0) return
    this.#endSweeps?.()
    this.#endSweeps = undefined
  }
}

/** The beginning of a reply address, up to the second dash: it identifies the call. */
function headOf(reply: string): string {
  return reply.slice(0, reply.indexOf('-', reply.indexOf('-') + 1) + 1)
}
