/** Ends of HTTP/2 connections without sockets, whose events are written down. */
import { FakeOutput } from '@elysia-microservices/rsocket/testing'
import { Http2Connection } from '../http2/connection.ts'
import { nameOfCode } from '../http2/error-code.ts'
import type { Field } from '../http2/hpack/field.ts'
import type { Http2Limits } from '../http2/limits.ts'
import type { Http2Stream, StreamEnd, StreamListener } from '../http2/stream.ts'
import { FrameWords, frame, PREFACE_BYTES, settings } from './frames.ts'

const inWords = (fields: readonly Field[]) => fields.map(({ name, value }) => `${name}=${value}`).join(' ')

/** Writes down what happens to a stream. Consumes data at once, unless told otherwise. */
export class Recorder implements StreamListener {
  readonly events: string[] = []
  /** Whether data is consumed when it arrives. */
  consumes = true
  /** Bytes that have arrived. */
  received = 0
  /** How often there was room again. */
  rooms = 0
  end: StreamEnd | undefined
  stream: Http2Stream | undefined
  /** Called when there is room again. */
  onRoom: () => void = () => {}

  head(fields: readonly Field[], isLast: boolean): void {
    this.events.push(`head${isLast ? ' end' : ''} ${inWords(fields)}`)
  }

  data(buffer: Uint8Array, start: number, end: number, isLast: boolean): void {
    this.received += end - start
    this.events.push(
      `data${isLast ? ' end' : ''} ${Buffer.from(buffer.subarray(start, end)).toString('latin1')}`.trimEnd()
    )
    if (this.consumes) this.stream?.consumed(end - start)
  }

  trailers(fields: readonly Field[]): void {
    this.events.push(`trailers ${inWords(fields)}`)
  }

  reset(end: StreamEnd): void {
    this.end = end
    this.events.push(
      `reset ${nameOfCode(end.errorCode)}${end.isByPeer ? ' by peer' : ''}${end.mayHaveRun ? '' : ' not run'}`
    )
  }

  room(): void {
    this.rooms++
    this.onRoom()
  }
}

/** One end, whose peer is the test. */
class End {
  readonly output = new FakeOutput()
  readonly connection: Http2Connection
  /** How often `changed` was called. */
  changes = 0
  time = 0
  readonly #words = new FrameWords()

  /** @param greeting what the peer has sent already */
  constructor(
    options: Omit<ConstructorParameters<typeof Http2Connection>[0], 'now' | 'changed'>,
    greeting: readonly Uint8Array[]
  ) {
    this.connection = new Http2Connection({
      ...options,
      now: () => this.time,
      changed: () => this.changes++
    })
    this.connection.open(this.output)
    if (greeting.length === 0) return
    this.receives(...greeting)
    this.sent()
  }

  /** The peer sends bytes. */
  receives(...chunks: readonly Uint8Array[]): this {
    this.connection.receive(Uint8Array.from(Buffer.concat(chunks)))
    return this
  }

  /** The frames that were sent since the last call, in words. */
  sent(): string[] {
    return this.#words.of(this.output.sent())
  }

  /** The frames that were sent since the last call, without SETTINGS and WINDOW_UPDATE. */
  answers(): string[] {
    return this.sent().filter((one) => !/^(SETTINGS|WINDOW_UPDATE)/.test(one))
  }
}

/** A server whose peer is the test. */
export class ServerEnd extends End {
  /** The requests that have arrived. */
  readonly requests: { readonly stream: Http2Stream; readonly recorder: Recorder; readonly words: string }[] =
    []
  /** Called with each request. */
  onRequest: (stream: Http2Stream, isLast: boolean, recorder: Recorder) => void = () => {}

  /** @param isGreeted whether preface and settings have been exchanged */
  constructor(limits: Partial<Http2Limits> = {}, isGreeted = true) {
    super(
      {
        role: 'server',
        limits,
        request: (stream, fields, isLast) => {
          const recorder = new Recorder()
          recorder.stream = stream
          stream.listener = recorder
          this.requests.push({ stream, recorder, words: `${isLast ? 'end ' : ''}${inWords(fields)}` })
          this.onRequest(stream, isLast, recorder)
        }
      },
      isGreeted ? [PREFACE_BYTES, settings(), frame(4, 1, 0)] : []
    )
  }
}

/** A client whose peer is the test. */
export class ClientEnd extends End {
  /** @param isGreeted whether settings have been exchanged */
  constructor(
    limits: Partial<Http2Limits> = {},
    isGreeted = true,
    ...pairs: readonly (readonly [number, number])[]
  ) {
    super({ role: 'client', limits }, isGreeted ? [settings(...pairs), frame(4, 1, 0)] : [])
  }

  /** Sends a request. */
  request(isLast = true): Recorder & { readonly stream: Http2Stream } {
    const recorder = new Recorder()
    const fields = [':method', 'POST', ':scheme', 'http', ':path', '/a.B/C', ':authority', 'here']
    recorder.stream = this.connection.request(fields, isLast, recorder)
    return recorder as Recorder & { readonly stream: Http2Stream }
  }
}
