/**
 * One call over Connect, with JSON as its data: no `.proto` is needed, because the protocol sends JSON as it is.
 * https://connectrpc.com/docs/protocol
 */
import { type IncomingMessage, request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import {
  ConnectionError,
  errorOf,
  ProtocolError,
  RejectedError,
  TimeoutError
} from '@elysia-microservices/transport/kit'
import type { Certificates } from '../certificates.ts'

/** A call. */
export interface ConnectCall {
  /** The address of the app, with the prefix of its routes if they have one. */
  readonly url: string
  /** `package.Service/Method`. */
  readonly method: string
  readonly data: unknown
  readonly headers: Readonly<Record<string, string>>
  /** Milliseconds for the whole call; 0: no limit. */
  readonly timeout: number
  readonly tls: Certificates | undefined
}

/** Most bytes of a message, because the service is not trusted. */
const MAX_MESSAGE = 64 * 1024 * 1024
/** A byte of flags and four of the length stand before each message of a stream. */
const HEAD = 5
const END_STREAM = 0x02

/** An error of Connect, as JSON. */
interface Failure {
  readonly code?: unknown
  readonly message?: unknown
  readonly details?: unknown
}

/** Asks for one answer. @throws {MicroserviceError} the call has failed */
export async function askOverConnect(call: ConnectCall): Promise<unknown> {
  const body = Buffer.from(JSON.stringify(call.data ?? {}))
  const deadline = call.timeout > 0 && { 'connect-timeout-ms': call.timeout }
  const { response } = await sent(call, { ...deadline, 'content-type': 'application/json' }, body)
  const said = jsonIn(await whole(response, call))
  if (response.statusCode !== 200) throw failureOf(said, call, response)
  return said
}

/**
 * Asks for a stream of answers. The timeout is that of the first one, so the service is not told: in Connect a deadline
 * is that of the whole call.
 * @throws {MicroserviceError} the call has failed
 */
export async function* streamOverConnect(call: ConnectCall): AsyncGenerator<unknown, void> {
  const body = enveloped(Buffer.from(JSON.stringify(call.data ?? {})))
  const { response, begun } = await sent(call, { 'content-type': 'application/connect+json' }, body)
  try {
    if (response.statusCode !== 200) throw failureOf(jsonIn(await whole(response, call)), call, response)
    for await (const { isEnd, message } of messagesOf(response, call)) {
      begun()
      if (!isEnd) {
        yield message
        continue
      }
      const { error } = Object(message) as { error?: Failure }
      if (error !== undefined) throw failureOf(error, call, response)
      return
    }
    throw new ProtocolError('The stream of the answer has no end')
  } finally {
    begun()
    response.destroy()
  }
}

/** Sends the request. @returns the head of the response; `begun` ends the wait for it */
function sent(
  call: ConnectCall,
  own: Readonly<Record<string, string | number>>,
  body: Buffer
): Promise<{ readonly response: IncomingMessage; begun(): void }> {
  const { url, method, headers, timeout, tls } = call
  const send = url.startsWith('https:') ? overHttps : overHttp
  const late = new AbortController()
  const timer = timeout > 0 ? setTimeout(() => late.abort(), timeout) : undefined
  const begun = () => clearTimeout(timer)
  return new Promise((resolve, reject) => {
    const request = send(`${url.replace(/\/$/, '')}/${method}`, {
      method: 'POST',
      ...tls,
      // The connection ends with the call.
      agent: false,
      signal: late.signal,
      headers: { ...headers, ...own, 'content-length': body.length, 'connect-protocol-version': '1' }
    })
    request.once('response', (response) => {
      response.once('close', begun)
      resolve({ response, begun })
    })
    request.once('error', (error) => {
      begun()
      reject(localError(error, call))
    })
    request.end(body)
  })
}

async function* chunksOf(response: IncomingMessage, call: ConnectCall): AsyncGenerator<Buffer, void> {
  try {
    for await (const chunk of response) yield chunk as Buffer
  } catch (error) {
    throw localError(error as Error, call)
  }
}

async function whole(response: IncomingMessage, call: ConnectCall): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of chunksOf(response, call)) {
    size += chunk.length
    if (size > MAX_MESSAGE) throw tooLarge(size)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The messages of a stream, without their heads. */
async function* messagesOf(response: IncomingMessage, call: ConnectCall) {
  let parts: Buffer[] = []
  let have = 0
  let need = HEAD
  for await (const chunk of chunksOf(response, call)) {
    parts.push(chunk)
    have += chunk.length
    while (have >= need) {
      const bytes = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
      const size = bytes.readUInt32BE(1)
      if (size > MAX_MESSAGE) throw tooLarge(size)
      const end = HEAD + size
      const isWhole = have >= end
      if (isWhole)
        yield { isEnd: ((bytes[0] as number) & END_STREAM) !== 0, message: jsonIn(bytes.subarray(HEAD, end)) }
      parts = [isWhole ? bytes.subarray(end) : bytes]
      have = (parts[0] as Buffer).length
      need = isWhole ? HEAD : end
    }
  }
}

function enveloped(data: Buffer): Buffer {
  const head = Buffer.alloc(HEAD)
  head.writeUInt32BE(data.length, 1)
  return Buffer.concat([head, data])
}

function tooLarge(size: number): ProtocolError {
  return new ProtocolError(`The answer has ${size} bytes or more; at most ${MAX_MESSAGE} are taken`)
}

function jsonIn(bytes: Buffer): unknown {
  const text = bytes.toString()
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function localError(error: Error & { readonly code?: string }, { url, method, timeout }: ConnectCall): Error {
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return new TimeoutError(method, timeout)
  return new ConnectionError(`${url} cannot be reached: ${error.message}`, true, error)
}

/** Codes of Connect that have another name here. */
const NAMES: Readonly<Record<string, string>> = {
  unimplemented: 'PATTERN_NOT_FOUND',
  deadline_exceeded: 'TIMEOUT',
  canceled: 'CANCELED'
}

/** The error of an answer. Services of this library send their own code in a `google.rpc.ErrorInfo`. */
function failureOf(said: unknown, { url, method, timeout }: ConnectCall, response: IncomingMessage): Error {
  const { code, message, details } = Object(said) as Failure
  if (typeof code !== 'string') {
    const status = `${response.statusCode} ${response.statusMessage}`
    return response.statusCode === 404
      ? errorOf('PATTERN_NOT_FOUND', `${url} has no ${method}: it answers with ${status}`, undefined, said)
      : new ProtocolError(`${url} answers with ${status}, which is no answer of Connect`)
  }
  const parts = (Array.isArray(details) ? details : []) as { type?: unknown; debug?: unknown }[]
  const debugOf = (type: string) => parts.find((part) => Object(part).type === type)?.debug
  const { reason } = Object(debugOf('google.rpc.ErrorInfo')) as { reason?: unknown }
  const own = typeof reason === 'string' ? reason : (NAMES[code] ?? code.toUpperCase())
  const text = typeof message === 'string' ? message : code
  if (own === 'TIMEOUT' && timeout > 0) return new TimeoutError(method, timeout, true, text)
  if (own === 'REJECTED') return new RejectedError(text, said)
  return errorOf(own, text, debugOf('google.protobuf.Value'), said)
}
