/** Lets the processes of one service (`workers`) share a port and its certificate. */
import { type Address, OptionError, type Sharing } from '@elysia-microservices/transport/kit'
import type { Source } from '../options/security-options.ts'
import { nameOfPlace } from '../options/shared-options.ts'
import type { TlsServerOptions } from '../socket/tls.ts'
import type { Listener } from './listener.ts'

/**
 * Under Bun each worker listens itself and the kernel distributes connections; on Node `node:cluster` distributes them.
 */
const LISTENS_BY_ITSELF = typeof Bun !== 'undefined'

/** The question that a supervisor may send to a worker. */
interface Question {
  /** The certificate to use; `null`: call the worker's own function for it. */
  readonly reloadTls: TlsServerOptions | null
}

/** Shares the port in one process: a supervisor or a worker. */
export class TcpSharing implements Sharing {
  readonly #listener: Listener
  /** In the supervisor: the address at which the workers listen. */
  address: Address | undefined
  #ask: ((question: unknown) => Promise<void>) | undefined
  /** The certificate last passed to `reloadTls`, for workers that start later. */
  #certificate: TlsServerOptions | undefined

  constructor(listener: Listener) {
    this.#listener = listener
  }

  /**
   * Listens for a moment without sharing the port. So a port that another program uses, and that `SO_REUSEPORT` would
   * let this service share, is noticed before any worker starts. Port 0 becomes a real port for all workers.
   */
  async reserve(ask: (question: unknown) => Promise<void>): Promise<unknown> {
    const { place } = this.#listener
    if (place.path !== undefined)
      throw new OptionError(
        'options.workers',
        `options.workers cannot be combined with options.path (${nameOfPlace(place)}): one process owns a Unix socket`
      )
    const address = await this.#listener.tryOut()
    this.address = address
    this.#ask = ask
    return { host: address.host, port: address.port }
  }

  greeting(): unknown {
    return this.#certificate === undefined ? undefined : question(this.#certificate)
  }

  release(): void {
    this.address = undefined
    this.#ask = undefined
  }

  join(place: unknown): void {
    const { host, port } = place as { host: string; port: number }
    this.#listener.place = { host, port, path: undefined, reusePort: LISTENS_BY_ITSELF }
  }

  async answer(asked: unknown): Promise<void> {
    const { reloadTls } = asked as Question
    await this.#listener.reloadTls(reloadTls ?? undefined)
  }

  /** Gives all present and later workers another certificate; `undefined`: they call the program's own function. */
  async reloadTls(source: Source<TlsServerOptions> | undefined): Promise<void> {
    if (source !== undefined) this.#certificate = await portable(source)
    await this.#ask?.(question(source === undefined ? undefined : this.#certificate))
  }
}

function question(tls: TlsServerOptions | undefined): Question {
  return { reloadTls: tls ?? null }
}

/** Turns TLS options into a form that can be sent to another process: bytes of PEM become text. */
async function portable(source: Source<TlsServerOptions>): Promise<TlsServerOptions> {
  const tls = typeof source === 'function' ? await source() : source
  const texts = Object.entries(tls).map(([key, value]) => [key, textOf(value)])
  return Object.fromEntries(texts) as TlsServerOptions
}

function textOf(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  return Array.isArray(value) ? value.map(textOf) : value
}
