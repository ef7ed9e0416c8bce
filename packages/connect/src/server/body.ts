/** Reads the bodies of requests, never more than a limit allows. */
import { CallFailure } from '@elysia-microservices/protobuf/rpc'
import { tooLarge } from '../protocol/request-messages.ts'

/** The part of a reader that is used: its type differs between runtimes. */
type Reader = Pick<ReadableStreamDefaultReader<Uint8Array>, 'read' | 'releaseLock'>

/**
 * The whole body.
 * @throws {CallFailure} `resource_exhausted`: it is larger than the limit; `canceled`: the client left before it had
 * sent all
 */
export async function wholeBody(request: Request, limit: number): Promise<Uint8Array> {
  const given = request.headers.get('content-length')
  const length = given === null ? undefined : Number(given)
  if (length !== undefined && length > limit) throw tooLarge(limit, length)
  const reader = readerOf(request)
  const chunks: Uint8Array[] = []
  let size = 0
  for (;;) {
    const chunk = await nextChunk(reader)
    if (chunk === undefined) break
    size += chunk.length
    if (size > limit) throw tooLarge(limit)
    chunks.push(chunk)
  }
  if (chunks.length === 1) return chunks[0] as Uint8Array
  const whole = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}

/** A reader of the body; `undefined` if there is none. */
export function readerOf(request: Request): Reader | undefined {
  return (request.body as ReadableStream<Uint8Array> | null)?.getReader() as Reader | undefined
}

/** The next chunk; `undefined` at the end. @throws {CallFailure} `canceled`: the client has left */
export async function nextChunk(reader: Reader | undefined): Promise<Uint8Array | undefined> {
  if (reader === undefined) return undefined
  try {
    const { value, done } = await reader.read()
    return done ? undefined : value
  } catch {
    throw new CallFailure('canceled', 'The client has left before it had sent its request')
  }
}
