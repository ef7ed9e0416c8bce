/** The two pulls of a durable handler: one for published events, and one for events that were redriven. */
import type { Logger } from '@elysia-microservices/transport/kit'
import type { NatsConnection } from '../connection/nats-connection.ts'
import type { Message } from '../driver.ts'
import type { Group } from './groups.ts'
import type { Subscription } from './names.ts'
import { Pull } from './pull.ts'

export interface PullsOwner {
  /** Published events that may be requested, besides those that have arrived. */
  readonly room: number
  /** Redriven events that may be requested, besides those that have arrived. */
  readonly roomForRedriven: number
  /** @param pull the pull for published events; `undefined`: the event was redriven */
  receive(message: Message, data: Uint8Array, pull?: Pull): void
  /** A consumer no longer exists at the server. @param why the text of the server */
  gone(why: string): void
  /** Nobody answers for a consumer. */
  doubtful(consumer: Subscription): void
  /** The server serves another process of the group. */
  unpinned(): void
}

/** The pulls of one handler, over its current connection. */
export class Pulls {
  readonly #owner: PullsOwner
  readonly #logger: Logger
  readonly #isOrdered: boolean
  #all: readonly Pull[] = []

  constructor(owner: PullsOwner, logger: Logger, isOrdered: boolean) {
    this.#owner = owner
    this.#logger = logger
    this.#isOrdered = isOrdered
  }

  get areRunning(): boolean {
    return this.#all.length > 0
  }

  /** Begins to request the events of a group. */
  start(connection: NatsConnection, { main, again }: Group): void {
    const owner = this.#owner
    const common = { gone: (why: string) => owner.gone(why), unpinned: () => owner.unpinned() }
    const mainPull = new Pull(
      connection,
      main,
      {
        ...common,
        get room() {
          return owner.room
        },
        receive: (message, data) => owner.receive(message, data, mainPull),
        doubtful: () => owner.doubtful(main)
      },
      this.#logger,
      this.#isOrdered
    )
    const againPull = new Pull(
      connection,
      again,
      {
        ...common,
        get room() {
          return owner.roomForRedriven
        },
        receive: (message, data) => owner.receive(message, data),
        doubtful: () => owner.doubtful(again)
      },
      this.#logger,
      false
    )
    this.#all = [mainPull, againPull]
    for (const pull of this.#all) pull.start()
  }

  fill(): void {
    for (const pull of this.#all) pull.fill()
  }

  /** The connection has a server again. */
  restored(): void {
    for (const pull of this.#all) pull.restored()
  }

  async stop(): Promise<void> {
    const all = this.#all
    this.#all = []
    await Promise.all(all.map((pull) => pull.stop()))
  }
}
