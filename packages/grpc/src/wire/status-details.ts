/**
 * The field `grpc-status-details-bin`: a `google.rpc.Status` with details of an error, each a message of its own type.
 * google/rpc/status.proto:
 *
 *   message Status { int32 code = 1; string message = 2; repeated google.protobuf.Any details = 3; }
 *   message Any { string type_url = 1; bytes value = 2; }
 */
import { concatBytes, text } from '@elysia-microservices/transport/kit'
import { bytesField, readFields, varint } from './protobuf.ts'

/** A detail: the name of its type, such as `google.rpc.ErrorInfo`, and its bytes. */
export interface StatusDetail {
  readonly type: string
  readonly value: Uint8Array
}

/** A status with details. */
export interface DetailedStatus {
  readonly code: number
  readonly message: string
  readonly details: readonly StatusDetail[]
}

const CODE = 1
const MESSAGE = 2
const DETAILS = 3
const TYPE_PREFIX = 'type.googleapis.com/'
/** Most details that are read. */
const MOST_DETAILS = 64

/** Writes a status. */
export function writeStatusDetails({ code, message, details }: DetailedStatus): Uint8Array {
  return concatBytes([
    ...(code === 0 ? [] : [Uint8Array.of(CODE << 3, ...varint(code))]),
    ...(message === '' ? [] : [bytesField(MESSAGE, Buffer.from(message))]),
    ...details.map(({ type, value }) => bytesField(DETAILS, writeDetail(type, value)))
  ])
}

function writeDetail(type: string, value: Uint8Array): Uint8Array {
  const url = bytesField(1, Buffer.from(TYPE_PREFIX + type))
  return value.length === 0 ? url : concatBytes([url, bytesField(2, value)])
}

/** Reads a status. Returns `undefined` if the bytes are none. Fields that it does not know are left out. */
export function readStatusDetails(bytes: Uint8Array): DetailedStatus | undefined {
  let code = 0
  let message = ''
  const details: StatusDetail[] = []
  const isRead = readFields(bytes, (number, value) => {
    if (number === CODE && typeof value === 'number') code = value
    else if (typeof value === 'number') return true
    else if (number === MESSAGE) message = text.read(value, 0, value.length)
    else if (number === DETAILS) {
      const detail = readDetail(value)
      if (detail === undefined || details.length === MOST_DETAILS) return false
      details.push(detail)
    }
    return true
  })
  return isRead ? { code, message, details } : undefined
}

function readDetail(bytes: Uint8Array): StatusDetail | undefined {
  let url = ''
  let value: Uint8Array = new Uint8Array()
  const isRead = readFields(bytes, (number, content) => {
    if (typeof content === 'number') return true
    if (number === 1) url = text.read(content, 0, content.length)
    else if (number === 2) value = content
    return true
  })
  return isRead ? { type: url.slice(url.lastIndexOf('/') + 1), value } : undefined
}
