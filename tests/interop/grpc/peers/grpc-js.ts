/** grpc-js on Node: `serve` prints its port, and ends with its standard input; `call PORT` does the checks. */
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { fromOthers } from '../../../support/others.ts'
import { Answers, type Caller, printChecks } from '../checks.ts'

/** The part of grpc-js that the checks use. */
interface GrpcJs {
  readonly Server: new (options: object) => Server
  readonly Client: new (address: string, credentials: unknown, options: object) => Client
  readonly Metadata: new () => Metadata
  readonly credentials: { createInsecure(): unknown }
  readonly ServerCredentials: { createInsecure(): unknown }
  readonly status: Readonly<Record<number, string>>
}
interface Metadata {
  set(name: string, value: string): void
  get(name: string): unknown[]
}
interface Stream extends Duplex {
  cancel(): void
  readonly request: Text
  readonly metadata: Metadata
}
type Callback = (error: object | null, value?: Text) => void
type Done = (error: Error | null, value: Text) => void
interface Client {
  makeUnaryRequest(...parameters: unknown[]): { cancel(): void }
  makeServerStreamRequest(...parameters: unknown[]): Stream
  makeClientStreamRequest(...parameters: unknown[]): Stream
  makeBidiStreamRequest(...parameters: unknown[]): Stream
  close(): void
}
interface Server {
  addService(definition: object, handlers: object): void
  bindAsync(address: string, credentials: unknown, bound: (error: Error | null, port: number) => void): void
}

const { grpc } = await fromOthers<{ readonly grpc: GrpcJs }>('grpc-js')
const [role, port] = process.argv.slice(2)
const LIMITS = { 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 }

/** The message `Text`: an object, as grpc-js takes an empty text for no message. */
interface Text {
  readonly text: string
}

function write({ text }: Text): Buffer {
  if (text === '') return Buffer.alloc(0)
  const bytes = Buffer.from(text)
  const head = [0x0a]
  let rest = bytes.length
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) head.push((rest & 0x7f) | 0x80)
  head.push(rest)
  return Buffer.concat([Buffer.from(head), bytes])
}

function read(bytes: Buffer): Text {
  if (bytes.length === 0) return { text: '' }
  let at = 1
  while ((bytes[at++] as number) >= 0x80);
  return { text: bytes.toString('utf8', at) }
}

/** Writes values as fast as the stream takes them. */
async function pour(values: AsyncIterable<string>, stream: Stream): Promise<void> {
  const gone = new AbortController()
  for (const event of ['cancelled', 'close', 'error']) stream.once(event, () => gone.abort())
  try {
    for await (const value of values) {
      if (gone.signal.aborted) return
      if (!stream.write({ text: value } as never)) await once(stream, 'drain', { signal: gone.signal })
    }
    stream.end()
  } catch (error) {
    if (!gone.signal.aborted) throw error
  }
}

async function* textsOf(stream: Stream): AsyncGenerator<string> {
  // A stream that is destroyed behind its last value could not be answered any more.
  for await (const value of stream.iterator({ destroyOnReturn: false })) yield (value as Text).text
}

/** The values of a call; one who leaves them cancels it. */
async function* valuesOf(stream: Stream): AsyncGenerator<string> {
  // The error of a call that was left comes when nobody listens any more.
  stream.on('error', () => {})
  try {
    yield* textsOf(stream)
  } finally {
    stream.cancel?.()
  }
}

const path = (name: string) => `/checks.Checks/${name}`

function newCaller(): Caller {
  const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), LIMITS)
  return {
    echo(text, { user, timeout = 60_000, signal } = {}) {
      const metadata = new grpc.Metadata()
      if (user !== undefined) metadata.set('x-user', user)
      return new Promise<string>((resolve, reject) => {
        const done: Done = (error, value) => (error === null ? resolve(value.text) : reject(error))
        const options = { deadline: Date.now() + timeout }
        const call = client.makeUnaryRequest(path('Echo'), write, read, { text }, metadata, options, done)
        signal?.addEventListener('abort', () => call.cancel())
      })
    },
    down: (text) => valuesOf(client.makeServerStreamRequest(path('Down'), write, read, { text })),
    up: (values) =>
      new Promise((resolve, reject) => {
        const done: Done = (error, value) => (error === null ? resolve(value.text) : reject(error))
        void pour(values, client.makeClientStreamRequest(path('Up'), write, read, done))
      }),
    both(values) {
      const stream = client.makeBidiStreamRequest(path('Both'), write, read)
      void pour(values, stream)
      return valuesOf(stream)
    },
    failure(error) {
      const { code, details } = error as { readonly code: number; readonly details: string }
      return { code: grpc.status[code] as string, message: details }
    },
    close: () => client.close()
  }
}

function serve(): void {
  const answers = new Answers()
  const server = new grpc.Server(LIMITS)
  const method = (name: string, requestStream: boolean, responseStream: boolean) => ({
    path: path(name),
    requestStream,
    responseStream,
    requestSerialize: write,
    requestDeserialize: read,
    responseSerialize: write,
    responseDeserialize: read
  })
  const definition = {
    Echo: method('Echo', false, false),
    Down: method('Down', false, true),
    Up: method('Up', true, false),
    Both: method('Both', true, true)
  }
  server.addService(definition, {
    Echo(call: Stream, answer: Callback) {
      const {
        request: { text },
        metadata
      } = call
      if (text === 'fail') return answer({ code: 5, details: `No order of ${metadata.get('x-user')[0]}: ü` })
      if (text !== 'wait') return answer(null, { text: text === 'state' ? answers.state : text })
      const gone = new AbortController()
      call.on('cancelled', () => gone.abort())
      answers.wait(gone.signal).catch(() => {})
    },
    Down: (call: Stream) => pour(answers.down(call.request.text), call),
    async Up(call: Stream, answer: Callback) {
      answer(null, { text: await answers.up(textsOf(call)) })
    },
    Both: (call: Stream) => pour(answers.both(textsOf(call)), call)
  })
  server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) => {
    if (error !== null) throw error
    console.log(JSON.stringify({ port: bound }))
    process.stdin.resume()
    process.stdin.once('end', () => process.exit(0))
  })
}

if (role === 'call') {
  await printChecks(newCaller)
  process.exit(0)
} else serve()
