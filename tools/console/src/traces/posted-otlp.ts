/** Reads requests of OpenTelemetry exporters: OTLP as JSON or protobuf, compressed or not, of limited size. */
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'

/** The content type of OTLP as protobuf. */
export const PROTOBUF = 'application/x-protobuf'
const JSON_TYPE = 'application/json'

/** Largest size of a body in bytes, both compressed and uncompressed. */
const MAX_OTLP = 8 * 1024 * 1024

/**
 * Reads a body. A page of another origin cannot send these content types without a preflight request, which the
 * server refuses.
 * @throws {TypeError} the body is neither JSON nor protobuf of OTLP, or too large
 */
export async function postedOtlp(
  request: Request,
  signal: 'traces' | 'logs' | 'metrics'
): Promise<{ readonly body: unknown; readonly isJson: boolean }> {
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';')
  const isJson = type.trim() === JSON_TYPE
  if (!isJson && type.trim() !== PROTOBUF) throw new TypeError(`The body must be ${JSON_TYPE} or ${PROTOBUF}`)
  const bytes = await bytesOf(request)
  if (isJson) return { body: parsed(new TextDecoder().decode(bytes)), isJson }
  // The decoder is loaded only when it is needed. Metrics are not kept, so they are not decoded.
  if (signal === 'metrics') return { body: undefined, isJson }
  const { decodeOtlp } = await import('./protobuf.ts')
  return { body: decodeOtlp(signal, bytes), isJson }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new TypeError('The body is not JSON')
  }
}

/** Reads the bytes of a body, and stops when there are too many, whatever the header has named as their length. */
async function bytesOf({ headers, body }: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > MAX_OTLP) throw new TypeError(`The body is longer than ${MAX_OTLP} bytes`)
    chunks.push(chunk)
  }
  const bytes = Buffer.concat(chunks)
  const encoding = headers.get('content-encoding') ?? 'identity'
  if (encoding === 'identity') return bytes
  if (encoding !== 'gzip') throw new TypeError(`The body is compressed as ${encoding}, which is not gzip`)
  try {
    return await promisify(gunzip)(bytes, { maxOutputLength: MAX_OTLP })
  } catch {
    throw new TypeError(`The body is not gzip, or has more than ${MAX_OTLP} bytes`)
  }
}
