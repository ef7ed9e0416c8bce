/**
 * Details of failures: messages of `google.rpc`, which the libraries of all languages know. google/rpc/status.proto,
 * google/rpc/error_details.proto:
 *
 *   message Status { int32 code = 1; string message = 2; repeated google.protobuf.Any details = 3; }
 *   message Any { string type_url = 1; bytes value = 2; }
 *   message ErrorInfo { string reason = 1; string domain = 2; map<string, string> metadata = 3; }
 */
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { ValueSchema } from '@bufbuild/protobuf/wkt'
import { fromValue, toValue } from '../codec/json-values.ts'
import type { JsonValue } from '../proto.ts'
import { CODES } from './codes.ts'
import type { Failure, FailureDetail } from './failure.ts'

/** The prefix of names of messages in `google.protobuf.Any`. */
const ANY = 'type.googleapis.com/'
const INFO = 'google.rpc.ErrorInfo'
const VALUE = 'google.protobuf.Value'
/** Says whose codes the reasons are. Only errors of this domain become errors of our classes again. */
const DOMAIN = 'elysia-microservices'
/** Most details that are read. */
const MOST = 64

/** The code of an error of this library or its application, as `google.rpc.ErrorInfo`. */
export function errorInfo(reason: string): FailureDetail {
  const value = new BinaryWriter()
  text(value, 1, reason)
  text(value, 2, DOMAIN)
  return { type: INFO, value: value.finish(), debug: { reason, domain: DOMAIN } }
}

/** The details of an error as `google.protobuf.Value`; `undefined` if they have no form in protobuf. */
export function valueDetail(details: JsonValue): FailureDetail | undefined {
  try {
    return { type: VALUE, value: toBinary(ValueSchema, toValue(details) as never), debug: details }
  } catch {
    // They are nested too deeply; without them the failure is still told.
    return undefined
  }
}

/** A failure as `google.rpc.Status`, for the field `grpc-status-details-bin`. */
export function statusBytes({ code, message, details }: Failure): Uint8Array {
  const status = new BinaryWriter().tag(1, WireType.Varint).int32(CODES[code].number)
  text(status, 2, message)
  for (const { type, value } of details) {
    status.tag(3, WireType.LengthDelimited).fork()
    text(status, 1, ANY + type)
    status.tag(2, WireType.LengthDelimited).bytes(value).join()
  }
  return status.finish()
}

function text(writer: BinaryWriter, field: number, value: string): void {
  writer.tag(field, WireType.LengthDelimited).string(value)
}

/** The parts of a `google.rpc.Status` that are used here. */
export interface ReadDetails {
  readonly message: string
  /** The code of an error of this library; `undefined` if another library has made the failure. */
  readonly reason: string | undefined
  /** The details of an error; `undefined` if there are none. */
  readonly details: unknown
}

/** Reads a `google.rpc.Status`; `undefined` if the bytes are none. What it does not know is left out. */
export function readDetails(bytes: Uint8Array): ReadDetails | undefined {
  let message = ''
  let reason: string | undefined
  let details: unknown
  let count = 0
  try {
    readFields(bytes, (field, reader) => {
      if (field === 2) message = reader.string()
      if (field !== 3) return field === 2
      if (++count > MOST) throw new Error('There are too many details')
      const { type, value } = readAny(reader.bytes())
      if (type === INFO) reason ??= readReason(value)
      if (type === VALUE) details ??= fromValue(fromBinary(ValueSchema, value) as never)
      return true
    })
  } catch {
    return undefined
  }
  return { message, reason, details }
}

function readAny(bytes: Uint8Array): { readonly type: string; readonly value: Uint8Array } {
  let url = ''
  let value: Uint8Array = new Uint8Array()
  readFields(bytes, (field, reader) => {
    if (field === 1) url = reader.string()
    else if (field === 2) value = reader.bytes()
    return field < 3
  })
  return { type: url.slice(url.lastIndexOf('/') + 1), value }
}

/** The reason of an `ErrorInfo` of our domain. */
function readReason(bytes: Uint8Array): string | undefined {
  let reason = ''
  let domain = ''
  readFields(bytes, (field, reader) => {
    if (field === 1) reason = reader.string()
    else if (field === 2) domain = reader.string()
    return field < 3
  })
  return domain === DOMAIN && reason !== '' ? reason : undefined
}

/**
 * Reads the fields of a message.
 * @param read reads a field with bytes or a text; returns false if it does not know the field
 * @throws the bytes are no message
 */
function readFields(bytes: Uint8Array, read: (field: number, reader: BinaryReader) => boolean): void {
  const reader = new BinaryReader(bytes)
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag()
    if (wire !== WireType.LengthDelimited || !read(field, reader)) reader.skip(wire, field)
  }
}
