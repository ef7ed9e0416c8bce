/** Channels on which Nest's services answer, heard as long as calls need them. */
import { repeat } from '@elysia-microservices/transport/engine'
import type { Link } from './link.ts'

/** Milliseconds between looks for channels that no call needs: calls one after the other do not subscribe each time. */
const SWEEP = 1_000

interface Heard {
  /** The beginnings of the reply addresses of calls that wait there. */
  readonly calls: Set<string>
  /** Resolves when the server has the subscription. */
  readonly subscribed: Promise<void>
  /** No call has needed it at the last look. */
  isIdle: boolean
}

/** One connection's. */
export class NestAnswers {
  readonly #link: Link
  readonly #channels = new Map<string, Heard>()
  readonly #channelOf = new Map<string, string>()
  #endSweeps: (() => void) | undefined

  constructor(link: Link) {
    this.#link = link
  }

  /** Whether calls wait. */
  get isNeeded(): boolean {
    return this.#channelOf.size > 0
  }

  has(channel: string): boolean {
    return this.#channels.has(channel)
  }

  /** Hears a channel for a call. Resolves when the server has the subscription. */
  hear(channel: string, reply: string): Promise<void> {
    let heard = this.#channels.get(channel)
    if (heard === undefined) {
      heard = { calls: new Set(), subscribed: this.#link.subscribe(channel), isIdle: false }
      this.#channels.set(channel, heard)
      heard.subscribed.catch(() => this.#channels.delete(channel))
      this.#endSweeps ??= repeat(() => this.#sweep(), SWEEP)
    }
    const head = headOf(reply)
    heard.calls.add(head)
    this.#channelOf.set(head, channel)
    return heard.subscribed
  }

  /** A call is over. */
  over(head: string): void {
    const channel = this.#channelOf.get(head)
    if (channel === undefined) return
    this.#channelOf.delete(head)
    this.#channels.get(channel)?.calls.delete(head)
  }

  close(): void {
    this.#endSweeps?.()
  }

  #sweep(): void {
    const idle: string[] = []
    for (const [channel, heard] of this.#channels) {
      if (heard.isIdle && heard.calls.size === 0) idle.push(channel)
      heard.isIdle = heard.calls.size === 0
    }
    for (const channel of idle) this.#channels.delete(channel)
    if (idle.length > 0) this.#link.unsubscribe(idle, []).catch(() => {})
    if (this.#channels.size > 0) return
    this.#endSweeps?.()
    this.#endSweeps = undefined
  }
}

/** The part of a reply address that names its call, up to the second dash. */
function headOf(reply: string): string {
  return reply.slice(0, reply.indexOf('-', reply.indexOf('-') + 1) + 1)
}
