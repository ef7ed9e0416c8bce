/** Answers requests: finds the form of a request, reads it, calls the handler, and makes the response. */

import type { MessageCodec } from '@elysia-microservices/protobuf'
import {
  acceptsGzip,
  addMetadata,
  CallFailure,
  failureOf,
  invokeGrpc,
  isGzip,
  type Metadata
} from '@elysia-microservices/protobuf/rpc'
import {
  consoleLogger,
  IncomingMessage,
  LONGEST_TIME,
  unlessAborted
} from '@elysia-microservices/transport/kit'
import type { CheckedOptions, ConnectRpcContext } from '../options.ts'
import { acceptedTypes, type Form, formOf } from '../protocol/form.ts'
import { type MessageInUrl, messageInUrl } from '../protocol/message-in-url.ts'
import { connectTimeout, grpcTimeout } from '../protocol/timeout.ts'
import { wholeBody } from './body.ts'
import type { ConnectDoor } from './door.ts'
import { answerEvent } from './event.ts'
import { compressing, decompressed } from './gzip.ts'
import { MessagesIn, messageOf } from './messages-in.ts'
import type { CallableMethod } from './methods.ts'
import { failedResponse } from './response-heads.ts'
import { RunningCall } from './running-call.ts'
import { CONNECT } from './service-end.ts'
import { SingleAnswer } from './single-answer.ts'
import { StreamAnswer } from './stream-answer.ts'

/** A request, with what the HTTP server says about it. */
export interface Asked {
  readonly request: Request
  /** The context of Elysia, for functions of the user. */
  readonly context: ConnectRpcContext
  /** Whether no hook of the app has read the body. */
  readonly isUnread: boolean
  /** The id of the request, which a hook of the app may have chosen. */
  readonly id: string
  /** Aborts when the client has left. */
  readonly signal: AbortSignal
  /** When the request arrived, on the clock of `performance.now()`. */
  readonly arrivedAt: number
  /**
   * The request has been read, and its handler begins.
   * @param timeout milliseconds of the call; `undefined` for no limit
   */
  begins(callable: CallableMethod, timeout: number | undefined): void
}

const READ_BY_HOOK =
  'A hook of the app, such as onParse, has read the body of a request for connectRpc(): it must return nothing for the content types of Connect and gRPC-Web'

/** The names of headers by protocol. */
const HEADERS = {
  connect: { encoding: 'content-encoding', accepts: 'accept-encoding' },
  'connect-stream': { encoding: 'connect-content-encoding', accepts: 'connect-accept-encoding' },
  'grpc-web': { encoding: 'grpc-encoding', accepts: 'grpc-accept-encoding' }
} as const

/** The data of a call, and the messages of the caller that the handler has not got yet. */
interface Read {
  readonly data: unknown
  readonly input?: MessagesIn | undefined
}

/** Reads the data of a call. @param refused is called when the messages of a stream cannot be read */
type ReadData = (refused: (failure: CallFailure) => void) => Promise<Read>

/** Answers the requests for the methods of a door. */
export class Answering {
  readonly #door: ConnectDoor
  readonly #options: CheckedOptions
  readonly #compress: ReturnType<typeof compressing>

  constructor(door: ConnectDoor, options: CheckedOptions) {
    this.#door = door
    this.#options = options
    this.#compress = compressing(options.compressFrom)
  }

  /** Answers a POST. Never rejects. */
  async post(callable: CallableMethod, asked: Asked): Promise<Response> {
    const { method, streams } = callable
    const { headers } = asked.request
    if (method.clientStreams && method.serverStreams) return needsHttp2()
    const form = formOf(headers.get('content-type'), streams)
    if (form === undefined) return wrongType(streams)
    const read: ReadData = async (refused) => {
      if (!asked.isUnread) throw new Error(READ_BY_HOOK)
      const encoding = headers.get(HEADERS[form.protocol].encoding)
      if (form.protocol !== 'connect') return this.#envelopes(callable, asked, form, encoding, refused)
      const body = await unlessAborted(wholeBody(asked.request, this.#limit), asked.signal)
      return { data: this.#decoded(body, encoding, method.input, form) }
    }
    const compress = acceptsGzip(headers.get(HEADERS[form.protocol].accepts)) ? this.#compress : undefined
    const answer =
      form.protocol === 'connect' ? new SingleAnswer(form, compress) : new StreamAnswer(form, compress)
    return this.#answer(callable, asked, form, answer, read)
  }

  /** Answers a GET. Never rejects. */
  async get(callable: CallableMethod, asked: Asked): Promise<Response> {
    let read: MessageInUrl
    try {
      read = messageInUrl(new URL(asked.request.url).searchParams)
    } catch (error) {
      return failedResponse(error as CallFailure)
    }
    const { form, message, compression } = read
    // Not compressed: the answer may be kept by a cache, which would give it to clients that cannot read gzip.
    const answer = new SingleAnswer(form)
    return this.#answer(callable, asked, form, answer, async () => ({
      data: this.#decoded(message, compression, callable.method.input, form)
    }))
  }

  get #limit(): number {
    return this.#options.limits.messageSize
  }

  async #answer(
    callable: CallableMethod,
    asked: Asked,
    form: Form,
    answer: SingleAnswer | StreamAnswer,
    read: ReadData
  ): Promise<Response> {
    const { method } = callable
    const { signal } = asked
    let call: RunningCall | undefined
    try {
      checkVersion(asked.request.headers)
      const timeout = this.#timeout(asked.request.headers, form)
      const { data, input } = await read((failure) => call?.refuse(failure))
      const { pattern, route, dispatcher, running, logger, isRemote } = await this.#door.find(callable)
      const isEvent = method.kind === 'event' && !isRemote
      const message = new IncomingMessage({
        transport: CONNECT,
        kind: isEvent ? 'event' : 'request',
        pattern,
        route,
        data,
        metadata: this.#metadata(asked),
        calledMethod: method,
        invokeGrpc,
        timeout,
        // The deadline of Connect and gRPC is that of the whole call.
        lifetime: timeout,
        arrivedAt: asked.arrivedAt,
        // HTTP has room for them, whatever the client is.
        asksForHeaders: true
      })
      asked.begins(callable, timeout)
      const { isJson } = form
      const { sendBuffer } = this.#options.limits
      const own = { method, isJson, dispatcher, running, outlet: answer, input, signal, sendBuffer }
      const init = { logger, message, errors: this.#options.errors, ...own }
      if (isEvent) answerEvent(init)
      else {
        call = new RunningCall(init)
        if (answer instanceof StreamAnswer) answer.call = call
        call.start()
      }
    } catch (error) {
      const why = signal.aborted ? new CallFailure('canceled', 'The call was canceled') : error
      answer.failure(failureOf(why, { logger: consoleLogger }))
    }
    return answer.response
  }

  async #envelopes(
    { method }: CallableMethod,
    { request, signal }: Asked,
    form: Form,
    encoding: string | null,
    refused: (failure: CallFailure) => void
  ): Promise<Read> {
    const init = { request, codec: method.input, form, isGzip: isGzip(encoding), limit: this.#limit }
    const input = new MessagesIn(init)
    if (method.clientStreams) return { data: input.values(refused), input }
    return { data: await unlessAborted(input.single(), signal) }
  }

  #decoded(body: Uint8Array, encoding: string | null, codec: MessageCodec, form: Form): unknown {
    return messageOf(isGzip(encoding) ? decompressed(body, this.#limit) : body, codec, form)
  }

  /** Milliseconds of the call; `undefined` for no limit. */
  #timeout(headers: Headers, { protocol }: Form): number | undefined {
    const asked =
      protocol === 'grpc-web'
        ? grpcTimeout(headers.get('grpc-timeout'))
        : connectTimeout(headers.get('connect-timeout-ms'))
    const { timeout: longest } = this.#options
    if (longest === false) return asked
    return Math.min(asked ?? LONGEST_TIME, longest)
  }

  #metadata({ request, context, id }: Asked): Metadata {
    const all: Metadata = {}
    request.headers.forEach((value, name) => void addMetadata(all, name.toLowerCase(), value))
    all['x-request-id'] = id
    const own = this.#options.headers?.(context) ?? {}
    for (const [name, value] of Object.entries(own)) if (value !== undefined) all[name.toLowerCase()] = value
    return all
  }
}

/** @throws {CallFailure} `invalid_argument`: the client speaks another version of Connect */
function checkVersion(headers: Headers): void {
  const version = headers.get('connect-protocol-version')
  if (version !== null && version !== '1')
    throw new CallFailure('invalid_argument', 'The header connect-protocol-version must be 1')
}

/** Both streams of a call cannot run at once over HTTP/1.1, which is all that Elysia speaks. */
function needsHttp2(): Response {
  return new Response('A method with streams in both directions needs HTTP/2, which is not served here', {
    status: 505,
    headers: { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }
  })
}

function wrongType(streams: boolean): Response {
  return new Response(null, { status: 415, headers: { 'accept-post': acceptedTypes(streams) } })
}
