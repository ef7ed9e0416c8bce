/** A service and a caller over one transport, for one case of the table. */

import { until } from '@elysia-microservices/test-support'
import type { ClientTransport, ServerTransport } from '@elysia-microservices/transport'
import type { IncomingMessage } from '@elysia-microservices/transport/kit'
import { type Carried, clientOf, everyPattern, type TransportUnderTest } from '../../calls/transports.ts'
import type { Endless } from './sources.ts'

/** How many values of a channel its handler reads. */
export type Reading = 'all' | 'one' | 'none'

const PATTERNS = ['echo', 'endless', 'all', 'one', 'none']
const logger = { error() {}, warn() {} }

/** Answers `echo`, gives the endless answer, and reads endless channels. */
export class Setting {
  readonly carried: Carried
  readonly server: ServerTransport
  readonly client: ClientTransport
  /** The message of the call of the case. */
  message: IncomingMessage | undefined
  /** Number of values that its reader has got. */
  got = 0
  /** How the call has ended; `undefined` until then. */
  ended: Error | 'complete' | undefined
  readonly #source: Endless

  static async open(transport: Pick<TransportUnderTest, 'open'>, source: Endless): Promise<Setting> {
    const carried = await transport.open()
    const answering = carried.server()
    const server = answering.server({ name: 'turns', version: undefined, logger })
    let setting: Setting | undefined
    await server.start({
      routes: () => everyPattern(answering, PATTERNS),
      request: (message) => setting?.answer(message),
      event() {}
    })
    setting = new Setting(carried, server, source)
    return setting
  }

  private constructor(carried: Carried, server: ServerTransport, source: Endless) {
    this.carried = carried
    this.server = server
    this.client = clientOf(carried.client())
    this.#source = source
  }

  answer(message: IncomingMessage): unknown {
    const { route, data } = message
    if (route === 'echo') return data
    this.message = message
    return route === 'endless'
      ? this.#source.stream
      : this.#read(data as AsyncIterable<unknown>, route as Reading)
  }

  async #read(values: AsyncIterable<unknown>, reading: Reading): Promise<number> {
    if (reading === 'none')
      await new Promise((resolve) => this.message?.signal.addEventListener('abort', resolve))
    else
      for await (const _ of values) {
        this.got++
        if (reading === 'one') break
      }
    return this.got
  }

  /** Asks for the endless answer, with a demand that is never used up. */
  ask(): { cancel(): void } {
    return this.client.stream('endless', 1, this.#receiver(false), { demand: 2 ** 31 - 1 })
  }

  /** Asks for the endless answer, and reads only its first values. */
  askAndPause(): { cancel(): void } {
    return this.client.stream('endless', 1, this.#receiver(true))
  }

  /** Sends the endless source as a channel. */
  send(reading: Reading): { cancel(): void } {
    return this.client.stream(reading, this.#source.stream, this.#receiver(false))
  }

  #receiver(isPaused: boolean) {
    return {
      next: () => {
        this.got++
        return !isPaused
      },
      complete: () => {
        this.ended = 'complete' as const
      },
      error: (error: Error) => {
        this.ended = error
      }
    }
  }

  /** Resolves when the source gives values to a call that the service has received, or the call has ended. */
  async runs(): Promise<void> {
    await until('the source gives values', () => {
      const isReceived = this.message !== undefined || this.ended !== undefined
      return this.#source.isBegun && isReceived
    })
  }

  /** Resolves when another caller gets an answer. Over an engine, a lost service is found again a little later. */
  async serves(): Promise<void> {
    const other = clientOf(this.carried.client())
    await until('another caller gets an answer', async () => {
      const answer = await other.request('echo', 7, { timeout: 60_000 }).catch(() => undefined)
      return answer === 7
    })
    await other.close()
  }

  async close(): Promise<void> {
    await this.client.close()
    await this.server.stop({ drain: 0 })
    await this.carried.close()
  }
}
