/** A service whose calls are ended in every way, and what their callers see of it. */
import assert from 'node:assert/strict'
import { until, within } from '@elysia-microservices/test-support'
import {
  type CallOptions,
  type ClientTransport,
  type MicroserviceError,
  RejectedError,
  RpcError,
  type ServerTransport
} from '@elysia-microservices/transport'
import {
  type ClientContext,
  type IncomingMessage,
  PatternNotFoundError
} from '@elysia-microservices/transport/kit'
import { type Carried, clientOf, everyPattern } from './transports.ts'

/**
 * A little more than the milliseconds after which a service over an engine reports to the caller where it can be
 * reached.
 */
const UNTIL_REACHED = 50

/** The parts of an error that its caller sees. */
type Said = readonly [code: string, mayHaveRun: boolean, retryable: boolean]

export const said = (error: unknown): Said => {
  const { code, mayHaveRun, retryable } = error as MicroserviceError
  return [code, mayHaveRun, retryable]
}

/** The outcome of one call. */
class Outcome {
  readonly values: unknown[] = []
  readonly ends: ('complete' | Error)[] = []
}

/** The patterns that the calls use. */
const PATTERNS = ['echo', 'refuse', 'fail', 'partly', 'settled', 'later', 'refused-later', 'wait', 'unknown']

/** A service, a client of it, and the messages that the service has received. */
export class Setting {
  readonly messages: IncomingMessage[] = []
  /** Patterns of requests whose callers have gone, as their handlers saw it. */
  readonly aborted: string[] = []
  server!: ServerTransport
  client!: ClientTransport
  readonly #clients: ClientTransport[] = []
  readonly #carried: Carried

  constructor(carried: Carried) {
    this.#carried = carried
  }

  get endpoint(): string | undefined {
    return this.#carried.endpoint()
  }

  async start(): Promise<void> {
    const logger = { error() {}, warn() {} }
    const transport = this.#carried.server()
    this.server = transport.server({ name: 'ends', version: undefined, logger })
    await this.server.start({
      routes: () => everyPattern(transport, PATTERNS),
      request: (message) => this.#answer(message),
      event() {}
    })
  }

  newClient(context?: Partial<ClientContext>): ClientTransport {
    const client = clientOf(this.#carried.client(), context)
    this.#clients.push(client)
    return client
  }

  #answer(message: IncomingMessage): unknown {
    const { route, data } = message
    if (route === 'unknown') throw PatternNotFoundError.of('unknown')
    this.messages.push(message)
    message.signal.addEventListener('abort', () => this.aborted.push(String(route)))
    switch (route) {
      case 'echo':
        return data
      case 'refuse':
        throw new RejectedError('busy')
      case 'fail':
        throw new RpcError({ code: 'NO', message: 'no' })
      case 'partly':
        return partly()
      case 'settled':
        return new Promise((resolve) => setTimeout(resolve, 2 * UNTIL_REACHED))
      case 'later':
        // The first attempt gets no answer.
        return this.messages.length === 1 ? new Promise(() => {}) : data
      case 'refused-later':
        if (this.messages.length > 1) throw new RejectedError('busy')
        return new Promise(() => {})
      default:
        return new Promise(() => {})
    }
  }

  /** Waits until this many requests have arrived. */
  got(count: number): Promise<void> {
    return until(`${count} requests`, () => this.messages.length >= count)
  }

  /** Interrupts the connection of a client that was connected. @returns restores the connection */
  async cut(): Promise<() => Promise<void>> {
    assert.equal(await this.client.request('echo', 1), 1)
    const restore = await this.#carried.cut(this.server)
    await until('the client has noticed', () => this.client.status !== 'connected')
    return restore
  }

  lose(): Promise<void> {
    return this.#carried.lose(this.messages.at(-1) as IncomingMessage)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()))
    await this.server.stop({ drain: 0 })
  }
}

export const answered = (value: unknown): never => assert.fail(`answered: ${value}`)

async function* partly() {
  yield 1
  await new Promise(() => {})
}

/** Opens a stream, and records its values and its end. */
export function open(client: ClientTransport, pattern: string, data: unknown = 1, options?: CallOptions) {
  const outcome = new Outcome()
  const call = client.stream(
    pattern,
    data,
    {
      next: (value) => void outcome.values.push(value),
      complete: () => void outcome.ends.push('complete'),
      error: (error) => void outcome.ends.push(error)
    },
    options
  )
  return { call, outcome }
}

/** Makes the same call by `request` and by `stream`, and returns both errors. */
export async function failuresOf(
  client: ClientTransport,
  pattern: string,
  {
    data = 1,
    options,
    meanwhile = async () => {}
  }: {
    readonly data?: unknown
    readonly options?: CallOptions
    /** The event that ends the calls, after they were made. */
    readonly meanwhile?: () => Promise<unknown>
  } = {}
): Promise<MicroserviceError> {
  const request = client.request(pattern, data, options).then(answered, (error: MicroserviceError) => error)
  const { outcome } = open(client, pattern, data, options)
  await meanwhile()
  const error = await within(request, `the end of '${pattern}'`)
  await until(`the end of the stream '${pattern}'`, () => outcome.ends.length > 0)
  assert.deepEqual(outcome.ends.map(said), [said(error)], 'request and stream differ')
  assert.equal(error.pattern, pattern)
  const [streamed] = outcome.ends as MicroserviceError[]
  assert.equal(streamed?.endpoint, error.endpoint)
  return error
}
