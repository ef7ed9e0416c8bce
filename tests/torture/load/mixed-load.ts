/** All kinds of calls of a client at the same time, over connections that are lost now and then. */

import { pause } from '@elysia-microservices/test-support'
import type { ClientTransport } from '@elysia-microservices/transport'
import type { Ledger, Outcome } from '../support/ledger.ts'
import type { TortureService } from '../support/torture-service.ts'

/** Milliseconds between two requests of one caller. */
const PACE = 4
const LARGE = 256 * 1024
const STREAM_LENGTH = 50

/** Makes one call. */
type Action = () => Promise<void>

export class MixedLoad {
  /** The number of connections that were cut or closed on purpose. */
  faults = 0
  readonly #service: TortureService
  readonly #ledger: Ledger
  readonly #text = 'x'.repeat(LARGE)
  /** Unexpected failures, by the kind of call and the error code. */
  readonly #surprises = new Map<string, number>()
  #running = false

  constructor(service: TortureService, ledger: Ledger) {
    this.#service = service
    this.#ledger = ledger
  }

  start(): void {
    this.#running = true
    const reconnect = { minDelay: 10, maxDelay: 100 }
    const steady = this.#service.client()
    const steadyNest = this.#service.client({ protocol: 'nest' })
    const cut = this.#service.client({ reconnect })
    const cutNest = this.#service.client({ protocol: 'nest', reconnect })
    for (const client of [steady, steadyNest]) this.#callAll(client, [])
    for (const client of [cut, cutNest]) {
      this.#callAll(client, ['CONNECTION'])
      this.#repeat(500, () => this.#cut(client))
    }
    // NestJS's protocol has no channels, and cannot tell the server that a reader has left a stream.
    for (const [client, allowed] of [
      [steady, []],
      [cut, ['CONNECTION']]
    ] as const) {
      this.#repeat(PACE * 5, () => this.#channel(client, allowed))
      this.#repeat(PACE * 2, () => this.#leave(client, allowed))
    }
    // Events on a connection that is cut may be lost, because events have no answer.
    for (const client of [steady, steadyNest]) this.#repeat(PACE, () => this.#event(client))
    this.#repeat(100, () => this.#visit())
  }

  /** Stops; calls in flight end. */
  stop(): void {
    this.#running = false
  }

  /** A sentence for each kind of unexpected failure. */
  surprises(): string[] {
    return [...this.#surprises].map(([what, count]) => `${count} times ${what}`)
  }

  #callAll(client: ClientTransport, allowed: readonly string[]): void {
    const ledger = this.#ledger
    for (const pattern of ['echo', 'work']) {
      this.#repeat(PACE, async () => this.#expect(pattern, await ledger.request(client, pattern), allowed))
      this.#repeat(PACE, async () => this.#expect(pattern, await ledger.stream(client, pattern), allowed))
    }
    this.#repeat(PACE * 2, () => this.#stream(client, allowed))
    this.#repeat(PACE * 10, () => this.#large(client, allowed))
    this.#repeat(PACE, async () => {
      const signal = AbortSignal.timeout(10)
      this.#expect('a cancel', await ledger.request(client, 'slow', { signal }), ['CANCELED', ...allowed])
    })
    this.#repeat(PACE, async () =>
      this.#expect('a timeout', await ledger.request(client, 'slow', { timeout: 20 }), [
        'TIMEOUT',
        ...allowed
      ])
    )
  }

  #repeat(pace: number, action: Action): void {
    const run = async () => {
      while (this.#running) {
        await action()
        await pause(pace)
      }
    }
    void run()
  }

  #expect(what: string, { error }: Outcome, allowed: readonly string[]): void {
    if (error === undefined || allowed.includes(error.code)) return
    const surprise = `${what} failed: ${error.code} ${error.message}`
    this.#surprises.set(surprise, (this.#surprises.get(surprise) ?? 0) + 1)
  }

  /** Makes a request and records how it settles. */
  async #settle(
    what: string,
    id: number,
    answer: Promise<boolean>,
    allowed: readonly string[]
  ): Promise<void> {
    try {
      this.#ledger.answered(id, await answer, what)
    } catch (error) {
      this.#ledger.failed(id, error)
      this.#expect(what, { error } as Outcome, allowed)
    }
  }

  #stream(client: ClientTransport, allowed: readonly string[]): Promise<void> {
    const id = this.#ledger.begin()
    const whole = new Promise<boolean>((resolve, reject) => {
      let next = 0
      let inOrder = true
      client.stream(
        'count',
        { id, to: STREAM_LENGTH },
        {
          next: (value) => {
            inOrder &&= value === next++
          },
          complete: () => resolve(inOrder && next === STREAM_LENGTH),
          error: reject
        }
      )
    })
    return this.#settle('a stream', id, whole, allowed)
  }

  /** Leaves a stream before its end. */
  #leave(client: ClientTransport, allowed: readonly string[]): Promise<void> {
    const id = this.#ledger.begin()
    const left = new Promise<boolean>((resolve, reject) => {
      const call = client.stream(
        'count',
        { id, to: 1e9 },
        {
          next: (value) => {
            if (value !== 5) return
            call.cancel()
            resolve(true)
          },
          complete: () => resolve(false),
          error: reject
        },
        { demand: 16 }
      )
    })
    return this.#settle('a stream that is left', id, left, allowed)
  }

  #large(client: ClientTransport, allowed: readonly string[]): Promise<void> {
    const id = this.#ledger.begin()
    const data = { id, text: this.#text }
    const own = client
      .request('large', data)
      .then((answer) => (answer as typeof data).id === id && (answer as typeof data).text === this.#text)
    return this.#settle('a large request', id, own, allowed)
  }

  #channel(client: ClientTransport, allowed: readonly string[]): Promise<void> {
    const id = this.#ledger.begin()
    const input = async function* () {
      yield id
      for (let n = 1; n <= 20; n++) yield n
    }
    return this.#settle(
      'a channel',
      id,
      client.request('sum', input()).then((sum) => sum === 210),
      allowed
    )
  }

  #event(client: ClientTransport): Promise<void> {
    const id = this.#ledger.begin()
    return this.#settle(
      'an event',
      id,
      client.emit('seen', id).then(() => true),
      []
    )
  }

  /** Makes the server close the connection, so that the answer is lost. */
  async #cut(client: ClientTransport): Promise<void> {
    this.faults++
    await client.request('drop', undefined, { timeout: 5_000 }).catch(() => {})
  }

  /** Creates a client, makes one call, and closes the client. */
  async #visit(): Promise<void> {
    this.faults++
    const visitor = this.#service.visitor()
    this.#expect('a visit', await this.#ledger.request(visitor, 'work'), [])
    await visitor.close()
  }
}
