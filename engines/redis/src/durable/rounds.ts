/**
 * Looks after the streams of all durable handlers of one service in one process. While nothing happens, the server is
 * asked about all of them by one command, and about a few of them in turn, so that handlers without events cost the
 * server nothing that grows with their number.
 */
import { repeat } from '@elysia-microservices/engine'
import type { RedisConnection } from '../connection/redis-connection.ts'

/** Milliseconds between looks at streams in use, and between commands about all streams. */
const LOOK = 5_000
/**
 * Quiet streams that are looked at each time. A message wakes a stream that has new events; these looks find what no
 * message tells: that old events are to be deleted, or that a message was lost.
 */
const IN_TURN = 2
/** Streams in one command. */
const MOST_TOGETHER = 500
/** A stream, as one process of a group reads it; or another thing that is looked at in turn. */
export interface Watched {
  readonly group: string
  /** `undefined`: it is no stream. */
  readonly stream: string | undefined
  /** Whether nothing is left to do until a message tells that there is more. */
  readonly isQuiet: boolean
  /** Asks for the state. */
  look(): void
  /** Asks for events that no message has told of. */
  wake(wantsAll: boolean): void
}

/** Asks the server about all streams of one service. */
export class Rounds {
  readonly #process: string
  readonly #all = new Set<Watched>()
  readonly #end: () => void
  /** The server does not let this user ask about several streams together. */
  #isEachAlone = false
  connection: Pick<RedisConnection, 'isConnected' | 'store'> | undefined

  /** @param process identifies this process among the processes of a group */
  constructor(process: string) {
    this.#process = process
    this.#end = repeat(() => void this.look(), LOOK)
  }

  add(one: Watched): void {
    this.#all.add(one)
  }

  remove(one: Watched): void {
    this.#all.delete(one)
  }

  close(): void {
    this.#end()
  }

  /** Looks at all streams once. */
  async look(): Promise<void> {
    if (this.connection?.isConnected !== true) return
    const quiet: Watched[] = []
    const byGroup = new Map<string, Watched[]>()
    for (const one of this.#all) {
      if (one.isQuiet && !this.#isEachAlone) quiet.push(one)
      else one.look()
      if (one.stream === undefined) continue
      const group = byGroup.get(one.group)
      if (group === undefined) byGroup.set(one.group, [one])
      else group.push(one)
    }
    for (const one of quiet.slice(0, IN_TURN)) this.#lookInTurn(one)
    if (this.#isEachAlone) return
    for (const [group, all] of byGroup)
      for (let start = 0; start < all.length; start += MOST_TOGETHER)
        await this.#ask(group, all.slice(start, start + MOST_TOGETHER))
  }

  #lookInTurn(one: Watched): void {
    // At the end, so that the others are next.
    this.#all.delete(one)
    this.#all.add(one)
    one.look()
    one.wake(true)
  }

  /** Asks whether all streams of a group exist, with the group in them. */
  async #ask(group: string, all: readonly Watched[]): Promise<void> {
    const streams = all.map(({ stream }) => stream as string)
    try {
      await this.connection?.store.present(this.#process, group, streams)
    } catch (error) {
      if ((error as Error).name !== 'ReplyError') return
      this.#isEachAlone ||= (error as Error).message.startsWith('NOPERM')
      for (const one of all) if (one.isQuiet) one.look()
    }
  }
}
