/**
 * The end of a channel's input at its handler, over every transport: the input ends without an error only if the caller
 * has completed it, whatever the handler reads it with. Otherwise a sum of half an upload would look like the sum of all.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { isMissing, Log, until, within } from '@elysia-microservices/test-support'
import type { CallOptions, ClientTransport, MicroserviceError } from '@elysia-microservices/transport'
import type { IncomingMessage } from '@elysia-microservices/transport/kit'
import { type Message, microservice } from 'elysia-microservices'
import { from, lastValueFrom, reduce } from 'rxjs'
import { type Carried, clientOf, TRANSPORTS, type TransportUnderTest } from './transports.ts'

type Input = Message<AsyncIterable<number>>

/** Ways in which handlers read: each takes all values, and tells their number. */
const READINGS = {
  async loop({ data }: Input) {
    let count = 0
    for await (const _ of data) count++
    return count
  },
  async steps({ data }: Input) {
    const values = data[Symbol.asyncIterator]()
    let count = 0
    while ((await values.next()).done !== true) count++
    return count
  },
  async afterwards({ data, signal }: Input) {
    // The handler reads nothing before the end of the call.
    await new Promise<void>((resolve) => {
      setTimeout(resolve, 100)
      signal.addEventListener('abort', () => resolve())
    })
    return READINGS.loop({ data } as Input)
  },
  observable({ data }: Input) {
    return lastValueFrom(from(data).pipe(reduce((count) => count + 1, 0)))
  },
  async *stream({ data }: Input) {
    let count = 0
    for await (const _ of data) yield ++count
  },
  async *beside({ data, signal }: Input) {
    let count = 0
    const loop = async () => {
      for await (const _ of data) count++
    }
    // Nobody awaits the loop when the caller has left, so it must catch the error itself.
    const reading = loop().catch(() => {})
    const left = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    await Promise.race([reading, left])
    yield count
  }
} as const

/** A channel from the view of its caller. */
class Call {
  readonly values: unknown[] = []
  readonly ends: unknown[] = []
  #go = (_: 'end' | Error) => {}
  readonly #gone = new Promise<'end' | Error>((resolve) => {
    this.#go = resolve
  })
  readonly cancel: () => void

  constructor(client: ClientTransport, pattern: string, options?: CallOptions) {
    const call = client.stream(
      pattern,
      this.#source(),
      {
        next: (value) => void this.values.push(value),
        complete: () => void this.ends.push('complete'),
        error: (error) => void this.ends.push(error)
      },
      options
    )
    this.cancel = () => call.cancel()
  }

  async *#source() {
    yield 1
    yield 2
    const end = await this.#gone
    if (end !== 'end') throw end
  }

  /** The caller's source ends, or fails. */
  source(end: 'end' | Error) {
    this.#go(end)
  }
}

/** A service whose handlers read in each way, and what they have seen. */
class Setting {
  readonly log = new Log()
  message: IncomingMessage | undefined
  /** How often the handler has asked for a value. */
  reads = 0
  /** How the input has ended for the handler. */
  seen: string | undefined
  readonly service
  client!: ClientTransport
  readonly carried: Carried

  static async open(carried: Carried): Promise<Setting> {
    const setting = new Setting(carried)
    await setting.service.listen()
    setting.client = clientOf(carried.client())
    return setting
  }

  private constructor(carried: Carried) {
    this.carried = carried
    const service = microservice({
      name: 'inputs',
      drain: 0,
      transport: carried.server(),
      logger: this.log.logger
    })
    for (const [name, read] of Object.entries(READINGS))
      service.message(name, (message: Input) => this.#watch(message, read))
    this.service = service
  }

  #watch(message: Input, read: (message: Input) => unknown): unknown {
    this.message = message as unknown as IncomingMessage
    const { data } = message
    const see = (how: string) => {
      this.seen ??= how
    }
    const seen: AsyncIterableIterator<number> = {
      next: () => {
        this.reads++
        const step = (data as AsyncIterableIterator<number>).next()
        step.then(
          ({ done }) => done && see('end'),
          (error: MicroserviceError) => see(error.code)
        )
        return step
      },
      return: () => (data as AsyncGenerator<number>).return(undefined),
      [Symbol.asyncIterator]: () => seen
    }
    return read({ data: seen, signal: message.signal } as unknown as Input)
  }

  async stop() {
    await this.client.close()
    await this.service.stop()
  }
}

interface End {
  readonly what: string
  /** How the input ends at the handler. */
  readonly seen: readonly string[]
  readonly options?: CallOptions
  readonly without?: readonly string[]
  readonly on?: (transport: TransportUnderTest) => boolean
  end(setting: Setting, call: Call): unknown
}

const ENDS: readonly End[] = [
  { what: 'its caller completes', seen: ['end'], end: (_, call) => call.source('end') },
  { what: 'its caller cancels', seen: ['CANCELED'], end: (_, call) => call.cancel() },
  { what: "its caller's source fails", seen: ['PROTOCOL'], end: (_, call) => call.source(new Error('no')) },
  {
    what: "its caller's time is over",
    // Both ends have a clock: either the handler's is first, or the caller cancels.
    seen: ['TIMEOUT', 'CANCELED'],
    options: { timeout: 1_000 },
    // The timeout limits the wait for the first value only; reading beside the answer is the same with each end.
    without: ['stream', 'beside'],
    end() {}
  },
  // A client that closes cancels its calls, or its connection is gone.
  { what: 'its caller closes', seen: ['CANCELED', 'CONNECTION'], end: ({ client }) => client.close() },
  { what: 'the service stops', seen: ['CONNECTION'], end: ({ service }) => service.stop() },
  {
    what: 'the connection is lost',
    seen: ['CONNECTION'],
    on: ({ name }) => name === 'RSocket' || name === 'WebSocket',
    end: ({ carried, message }) => carried.lose(message as IncomingMessage)
  }
]

for (const transport of TRANSPORTS) {
  if (!transport.cancels || isMissing(`ends of inputs over ${transport.name}`, transport.missing)) continue
  describe(`over ${transport.name}, the input of a channel`, () => {
    let carried: Carried
    let setting: Setting
    before(async () => {
      carried = await transport.open()
    })
    after(() => carried.close())
    beforeEach(async () => {
      setting = await Setting.open(carried)
    })
    afterEach(() => setting.stop())

    for (const { what, seen, options, without, on, end } of ENDS) {
      if (on?.(transport) === false) continue
      for (const reading of Object.keys(READINGS).filter((name) => without?.includes(name) !== true))
        it(`ends with ${seen.join(' or ')} if ${what}, read by '${reading}'`, async () => {
          await setting.client.connect()
          const call = new Call(setting.client, reading, options)
          // The caller's source gives two values and then waits.
          await until('the handler waits', () =>
            reading === 'afterwards' ? setting.message !== undefined : setting.reads === 3
          )
          const ending = end(setting, call)
          await until('the handler sees an end', () => setting.seen !== undefined)
          assert.ok(seen.includes(setting.seen as string), setting.seen)
          await within(Promise.resolve(ending), 'the end')
          if (what === 'its caller completes') {
            await until('the answer', () => call.ends.length > 0)
            assert.deepEqual([call.ends, call.values.at(-1)], [['complete'], 2])
          } else {
            // Over an engine, the end of the input and the cancellation are two messages: with the first one the handler may
            // have failed, and its call is over.
            await until(
              'the signal aborts, or the call is over',
              () =>
                setting.message?.signal.aborted === true || setting.service.stats()[0]?.inFlight.current === 0
            )
            // The failure of the handler is nobody's answer, and no fault of the handler.
            assert.equal(
              call.ends.filter((error) => (error as MicroserviceError).code === 'INTERNAL').length,
              0
            )
          }
          assert.deepEqual(
            setting.log.lines.filter((line) => line.includes('handler of')),
            []
          )
        })
    }
  })
}
