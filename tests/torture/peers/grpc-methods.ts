/** The methods of the service over gRPC, and calls of them as frames that a well-behaved client would not send. */
import { anyJson, data, headers, uint32 } from '@elysia-microservices/grpc/testing'

export const METHODS = anyJson({ channels: ['sum'] })

/** The fields of a call. */
export function fieldsOf(pattern: string): readonly (readonly [string, string])[] {
  const path = METHODS.method(pattern)?.path
  return [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', `/${path}`],
    [':authority', 'here'],
    ['content-type', 'application/grpc'],
    ['te', 'trailers']
  ]
}

/** HEADERS of a call that has begun. */
export const begun = (streamId: number, pattern: string) => headers(streamId, fieldsOf(pattern), 0)

/** A whole call with one message of JSON. */
export function callOf(streamId: number, pattern: string, json: string): Buffer {
  const text = Buffer.from(json)
  const prefix = Buffer.concat([Uint8Array.of(0), uint32(text.length)])
  return Buffer.concat([begun(streamId, pattern), data(streamId, Buffer.concat([prefix, text]), true)])
}
