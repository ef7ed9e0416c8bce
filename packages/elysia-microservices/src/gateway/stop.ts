/** Stops a gateway's parts together with the app: event streams before the HTTP server stops, clients after it. */
import { consoleLogger, type Logger, loggerOf, mustBeBoolean } from '@elysia-microservices/transport/kit'
import type { AnyElysia } from 'elysia'
import { follow } from '../app/follow.ts'
import { type Stopping, stopWith } from '../app/stopping.ts'
import type { UntypedClient } from '../client/client-types.ts'
import type { EventStreams } from './event-streams.ts'

/** The methods that all clients have in common, whether typed or not. */
export type AnyClient = Pick<UntypedClient, 'connect' | 'close' | 'status'>

/** Options for closing the clients of an app. */
export interface ClosingOptions {
  /**
   * Closes also the clients that were passed in, when the app has stopped. Clients that a function has made are
   * closed in any case. Default: `false`.
   */
  readonly closeClients?: boolean | undefined
  /** Receives failures that callers are not told of. Default: the console. */
  readonly logger?: Logger | undefined
}

/** Milliseconds after which a client that is still connected has most likely been forgotten. */
const FORGOTTEN = 5_000

/** The clients of an app. The app closes its own clients; lent clients are closed by the code that has made them. */
export class Clients {
  readonly #own: AnyClient[] = []
  readonly #lent: AnyClient[] = []
  readonly #closeLent: boolean
  readonly #logger: Logger
  /** The timer after which forgotten clients are looked for. */
  #look: ReturnType<typeof setTimeout> | undefined

  constructor({ closeClients = false, logger = consoleLogger }: ClosingOptions) {
    mustBeBoolean('options.closeClients', closeClients)
    this.#closeLent = closeClients
    this.#logger = loggerOf(logger)
  }

  /** Returns the client that was given, or the client that the given function makes. */
  take<Client extends AnyClient>(given: Client | (() => Client)): Client {
    const client = typeof given === 'function' ? given() : given
    ;(typeof given === 'function' || this.#closeLent ? this.#own : this.#lent).push(client)
    return client
  }

  /**
   * Stops these clients together with the app that uses the plugin; if several apps use it, with the last of them.
   * @param streams what would keep the HTTP server from stopping
   */
  endWith(plugin: AnyElysia, streams?: EventStreams): void {
    const hosts = new Set<AnyElysia>()
    const after = async (host: AnyElysia) => {
      hosts.delete(host)
      streams?.stopped(host)
      if (hosts.size === 0) await this.#end()
    }
    // All starts share this object, so that an app that listens again closes its clients only once.
    const stopping: Stopping = { before: (host) => streams?.stopping(host), after }
    const started = (host: AnyElysia) => {
      hosts.add(host)
      streams?.started(host)
      stopWith(host, stopping)
    }
    follow(plugin, { started, stopped: (host) => void after(host) }, 'The gateway')
  }

  async #end(): Promise<void> {
    await Promise.all(this.#own.map((client) => client.close()))
    // `#end()` may be called several times for one stop, so the timer may be set already.
    if (this.#lent.length === 0 || this.#look !== undefined) return
    this.#look = setTimeout(() => this.#tellForgotten(), FORGOTTEN)
    this.#look.unref()
  }

  /** Warns of lent clients that are still connected, because they keep the process alive and nothing else says so. */
  #tellForgotten(): void {
    this.#look = undefined
    const open = this.#lent.filter(({ status }) => status === 'connected').length
    if (open === 0) return
    this.#logger.warn(
      `The app stopped ${FORGOTTEN / 1000} s ago, and ${open} of the clients given to its gateway are still connected and keep the process alive: close these clients, or set options.closeClients`
    )
  }
}
