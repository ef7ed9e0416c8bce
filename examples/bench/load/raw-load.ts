/**
 * A neutral load: raw sockets that send requests encoded beforehand and count the answers. This costs far less than
 * the client of any peer, so the server is the bottleneck, and all servers get the same bytes.
 */
import { ERROR_PAUSE, type Load, Outstanding } from './load.ts'
import type { Meter } from './meter.ts'
import { echoAnswerLength, encodeEchoRequests } from './nest-frames.ts'
import { RawConnection, type RawPlan } from './raw-connection.ts'

export interface RawLoadOptions {
  readonly host: string
  readonly port: number
  readonly connections: number
  /** Requests outstanding on each connection. */
  readonly pipeline: number
  /** The payload. As JSON it must be ASCII, so that its bytes, characters and UTF-16 units are the same number. */
  readonly payload: unknown
  readonly meter: Meter
}

export class RawLoad implements Load {
  readonly #plan: RawPlan
  readonly #connections = new Set<RawConnection>()
  #running = false

  /** Opens all connections. Rejects if the server cannot be reached. */
  static async open({ connections, ...options }: RawLoadOptions): Promise<RawLoad> {
    const load = new RawLoad(options)
    await Promise.all(Array.from({ length: connections }, () => load.#connect()))
    return load
  }

  private constructor({ payload, ...rest }: Omit<RawLoadOptions, 'connections'>) {
    this.#plan = {
      ...rest,
      requests: encodeEchoRequests(payload, rest.pipeline),
      answerLength: echoAnswerLength(payload),
      outstanding: new Outstanding(),
      lost: (connection) => {
        this.#connections.delete(connection)
        this.#reconnectLater()
      }
    }
  }

  start(): void {
    this.#running = true
    for (const connection of this.#connections) connection.start()
  }

  async finish(patience: number): Promise<void> {
    this.#running = false
    for (const connection of this.#connections) connection.finish()
    const unanswered = await this.#plan.outstanding.settle(patience)
    if (unanswered > 0) this.#plan.meter.failed('no answer before the end of the run', unanswered)
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.close()
  }

  async #connect(): Promise<RawConnection> {
    const connection = await RawConnection.open(this.#plan)
    this.#connections.add(connection)
    return connection
  }

  readonly #reconnect = async (): Promise<void> => {
    if (!this.#running) return
    try {
      const connection = await this.#connect()
      if (this.#running) connection.start()
    } catch (error) {
      this.#plan.meter.failed(error)
      this.#reconnectLater()
    }
  }

  #reconnectLater(): void {
    if (this.#running) setTimeout(this.#reconnect, ERROR_PAUSE)
  }
}
