/** Details of failures: messages of `google.rpc`, which the clients of all languages know. */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { JsonValue } from '@elysia-microservices/protobuf'
import type { CallFailure, FailureDetail } from './call-failure.ts'
import { CODES } from './codes.ts'

/** The prefix of names of messages in `google.protobuf.Any`. */
const ANY = 'type.googleapis.com/'

/**
 * The code of an error of this library as `google.rpc.ErrorInfo`.
 * @param domain the service of the method, such as `shop.v1.Orders`
 */
export function errorInfo(reason: string, domain: string): FailureDetail {
  const value = textFields([1, reason], [2, domain]).finish()
  return { type: 'google.rpc.ErrorInfo', value, debug: { reason, domain } }
}

/**
 * The details of an error of this library as `google.protobuf.Value`.
 * @throws the details have no form in protobuf, for example because they are nested too deeply
 */
export function valueDetail(details: JsonValue): FailureDetail {
  const writer = new BinaryWriter()
  writeValue(writer, details)
  return { type: 'google.protobuf.Value', value: writer.finish(), debug: details }
}

/** A failure as `google.rpc.Status`, which gRPC-Web sends in `grpc-status-details-bin`. */
export function statusBytes({ code, message, details }: CallFailure): Uint8Array {
  const status = new BinaryWriter().tag(1, WireType.Varint).int32(CODES[code].number)
  status.tag(2, WireType.LengthDelimited).string(message)
  for (const { type, value } of details) {
    const any = textFields([1, ANY + type])
      .tag(2, WireType.LengthDelimited)
      .bytes(value)
    status.tag(3, WireType.LengthDelimited).bytes(any.finish())
  }
  return status.finish()
}

function textFields(...fields: readonly (readonly [number, string])[]): BinaryWriter {
  const writer = new BinaryWriter()
  for (const [number, text] of fields) writer.tag(number, WireType.LengthDelimited).string(text)
  return writer
}

/** Writes a `google.protobuf.Value`. By hand, because protobuf-es's own would be most of this package's code. */
function writeValue(writer: BinaryWriter, value: JsonValue): void {
  if (value === null) writer.tag(1, WireType.Varint).int32(0)
  else if (typeof value === 'number') writer.tag(2, WireType.Bit64).double(value)
  else if (typeof value === 'string') writer.tag(3, WireType.LengthDelimited).string(value)
  else if (typeof value === 'boolean') writer.tag(4, WireType.Varint).bool(value)
  else if (isList(value)) {
    within(writer, 6, () => {
      for (const one of value) within(writer, 1, () => writeValue(writer, one))
    })
  } else {
    within(writer, 5, () => {
      for (const [name, one] of Object.entries(value))
        within(writer, 1, () => {
          writer.tag(1, WireType.LengthDelimited).string(name)
          within(writer, 2, () => writeValue(writer, one))
        })
    })
  }
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}

function within(writer: BinaryWriter, field: number, write: () => void): void {
  writer.tag(field, WireType.LengthDelimited).fork()
  write()
  writer.join()
}
