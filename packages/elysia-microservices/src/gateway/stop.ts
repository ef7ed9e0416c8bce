/** Ends a gateway's parts with the app: event streams before its HTTP server stops, clients after. */
import { consoleLogger, type Logger, loggerOf } from '@elysia-microservices/transport/kit'
import type { AnyElysia } from 'elysia'
import { follow } from '../app/follow.ts'
import { type Stopping, stopWith } from '../app/stopping.ts'
import type { UntypedClient } from '../client/client-types.ts'

/** Any client, typed or not: what all have in common. */
export type AnyClient = Pick<UntypedClient, 'connect' | 'close' | 'status'>

/** Options of closing the clients of an app. */
export interface ClosingOptions {
  /**
   * Closes the clients that were given, too, when the app has stopped. Clients that a function has made are closed in
   * any case. Default: `false`.
   */
  readonly closeClients?: boolean | undefined
  /** Gets what callers are not told. Default: the console. */
  readonly logger?: Logger | undefined
}

/** Milliseconds after which a client that is still connected has most likely been forgotten. */
const FORGOTTEN = 5_000

/** The clients of an app: its own clients, which it closes, and lent clients, which their owner closes. */
export class Clients {
  readonly #own: AnyClient[] = []
  readonly #lent: AnyClient[] = []
  readonly #closeLent: boolean
  readonly #logger: Logger
  /** Will look for forgotten clients. */
  #look: ReturnType<typeof setTimeout> | undefined

  constructor({ closeClients = false, logger = consoleLogger }: ClosingOptions) {
    this.#closeLent = closeClients
    this.#logger = loggerOf(logger)
  }

  /** The client that was given, or made by what was given. */
  take<Client extends AnyClient>(given: Client | (() => Client)): Client {
    const client = typeof given === 'function' ? given() : given
    ;(typeof given === 'function' || this.#closeLent ? this.#own : this.#lent).push(client)
    return client
  }

  /** Ends with the app that uses the plugin. @param before ends what would keep the HTTP server from stopping */
  endWith(plugin: AnyElysia, before?: () => void): void {
    const after = () => this.#end()
    // One object, so that an app that listens again does it once.
    const stopping: Stopping = before === undefined ? { after } : { before, after }
    follow(
      plugin,
      { started: (host) => stopWith(host, stopping), stopped: () => void after() },
      'The gateway'
    )
  }

  async #end(): Promise<void> {
    await Promise.all(this.#own.map((client) => client.close()))
    // The end of an app is told in several ways.
    if (this.#lent.length === 0 || this.#look !== undefined) return
    this.#look = setTimeout(() => this.#tellForgotten(), FORGOTTEN)
    this.#look.unref()
  }

  /** A process that does not end says nothing of why. */
  #tellForgotten(): void {
    this.#look = undefined
    const open = this.#lent.filter(({ status }) => status === 'connected').length
    if (open === 0) return
    this.#logger.warn(
      `The app stopped ${FORGOTTEN / 1000} s ago, and ${open} of the clients given to its gateway are connected, which keeps the process alive: close them, or set options.closeClients`
    )
  }
}
