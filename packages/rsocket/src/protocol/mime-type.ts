/** MIME types: the well-known ones with numbers (Extensions/WellKnownMimeTypes.md), and the ones this library uses. */

/** The types that this library reads or writes. */
export const MimeType = {
  JSON: 'application/json',
  BYTES: 'application/octet-stream',
  MSGPACK: 'application/x-msgpack',
  ROUTING: 'message/x.rsocket.routing.v0',
  COMPOSITE_METADATA: 'message/x.rsocket.composite-metadata.v0',
  DATA_MIME_TYPE: 'message/x.rsocket.mime-type.v0',
  ACCEPT_MIME_TYPES: 'message/x.rsocket.accept-mime-types.v0',
  AUTHENTICATION: 'message/x.rsocket.authentication.v0',
  /** This library's own: see `going-away.ts`. */
  GOING_AWAY: 'application/vnd.elysia-microservices.going-away',
  /** This library's own: see `caller-entry.ts`. */
  CALLER: 'application/vnd.elysia-microservices.caller'
} as const

/** Well-known types in the order of their numbers, from 0. */
const FROM_ZERO = [
  'application/avro',
  'application/cbor',
  'application/graphql',
  'application/gzip',
  'application/javascript',
  'application/json',
  'application/octet-stream',
  'application/pdf',
  'application/vnd.apache.thrift.binary',
  'application/vnd.google.protobuf',
  'application/xml',
  'application/zip',
  'audio/aac',
  'audio/mp3',
  'audio/mp4',
  'audio/mpeg3',
  'audio/mpeg',
  'audio/ogg',
  'audio/opus',
  'audio/vorbis',
  'image/bmp',
  'image/gif',
  'image/heic-sequence',
  'image/heic',
  'image/heif-sequence',
  'image/heif',
  'image/jpeg',
  'image/png',
  'image/tiff',
  'multipart/mixed',
  'text/css',
  'text/csv',
  'text/html',
  'text/plain',
  'text/xml',
  'video/H264',
  'video/H265',
  'video/VP8',
  'application/x-hessian',
  'application/x-java-object',
  'application/cloudevents+json',
  'application/x-capnp',
  'application/x-flatbuffers'
] as const

/** Well-known types in the order of their numbers, from 0x7a. */
const FROM_7A = [
  MimeType.DATA_MIME_TYPE,
  MimeType.ACCEPT_MIME_TYPES,
  MimeType.AUTHENTICATION,
  'message/x.rsocket.tracing-zipkin.v0',
  MimeType.ROUTING,
  MimeType.COMPOSITE_METADATA
] as const

const BY_NAME = new Map<string, number>([
  ...FROM_ZERO.map((name, index) => [name, index] as const),
  ...FROM_7A.map((name, index) => [name, 0x7a + index] as const)
])

/** The number of a MIME type; `undefined` if it has none. */
export function mimeTypeId(name: string): number | undefined {
  return BY_NAME.get(name)
}

/** The MIME type with this number; `undefined` if there is none. */
export function mimeTypeOfId(id: number): string | undefined {
  return FROM_ZERO[id] ?? FROM_7A[id - 0x7a]
}
