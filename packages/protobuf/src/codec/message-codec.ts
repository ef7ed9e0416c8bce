/** The codec of one message type: bytes and JSON by protobuf-es, plain objects by the writer and the reader. */
import { type DescMessage, type FileRegistry, fromBinary, fromJson, toJson } from '@bufbuild/protobuf'
import { describe, MicroserviceError, OptionError, ProtocolError } from '@elysia-microservices/transport/kit'
import type { Shapes } from '../options/shapes.ts'
import type { JsonValue, MessageCodec } from '../proto.ts'
import { ByteReaders, READING } from './from-bytes.ts'
import { MessageReader } from './from-message.ts'
import { type Hints, NO_HINTS } from './hints.ts'
import { Misfit } from './misfit.ts'
import { ByteMessages, writeMessage } from './to-bytes.ts'
import { MessageWriter } from './to-message.ts'
import { isJson, type Local } from './well-known.ts'

/** The codecs of all messages of some files. */
export class Codecs {
  readonly #registry: FileRegistry
  readonly #shapes: Shapes
  readonly #hints: Hints
  readonly #writer: MessageWriter
  readonly #bytes: ByteMessages
  readonly #reader: MessageReader
  readonly #readers: ByteReaders
  readonly #codecs = new Map<string, MessageCodec>()

  constructor(registry: FileRegistry, shapes: Shapes, hints: Hints = NO_HINTS) {
    this.#registry = registry
    this.#shapes = shapes
    this.#hints = hints
    this.#writer = new MessageWriter(shapes, registry, hints)
    this.#bytes = new ByteMessages(shapes, this.#writer)
    this.#reader = new MessageReader(shapes, registry, hints)
    this.#readers = new ByteReaders(this.#reader)
  }

  of(desc: DescMessage): MessageCodec {
    let codec = this.#codecs.get(desc.typeName)
    if (codec === undefined) {
      codec = this.#make(desc)
      this.#codecs.set(desc.typeName, codec)
    }
    return codec
  }

  #make(desc: DescMessage): MessageCodec {
    const { typeName } = desc
    const registry = this.#registry
    const write = this.#writer.of(desc)
    const writeBytes = this.#bytes.of(desc)
    const read = this.#reader.of(desc)
    const readBytes = this.#readers.of(desc)
    // Any JSON may be `null`, or nothing. A wrapper stands for a value that may be either.
    const isAny = isJson(desc, this.#shapes)
    const isWrapper = this.#hints.wrappers.has(typeName)
    const given = (value: unknown) => (isAny || isWrapper ? value : (value ?? {}))
    const isEmpty = (value: unknown) => isAny && value === undefined
    // Without a closure, as it runs for each value of a stream.
    const encodeShared = (value: unknown, room: number) => {
      try {
        return isEmpty(value)
          ? writeMessage(writeNothing, undefined, room)
          : writeMessage(writeBytes, given(value), room)
      } catch (error) {
        throw unsendable(typeName, error)
      }
    }
    return {
      typeName,
      encode: (value) => encodeShared(value, 0).copy(),
      encodeShared,
      decode(bytes) {
        try {
          return readBytes(bytes)
        } catch {
          // The message is rare or wrong: see `from-bytes.ts`.
          return receiving(typeName, () => read(fromBinary(desc, bytes, READING) as unknown as Local))
        }
      },
      toJson: (value) => {
        try {
          const message = isEmpty(value) ? EMPTY_VALUE : write(given(value))
          return toJson(desc, message as never, { registry }) as JsonValue
        } catch (error) {
          throw unsendable(typeName, error)
        }
      },
      fromJson: (json) =>
        receiving(typeName, () =>
          read(fromJson(desc, json as never, { registry, ignoreUnknownFields: true }) as unknown as Local)
        )
    }
  }
}

/** A `google.protobuf.Value` without a value. */
const EMPTY_VALUE = { $typeName: 'google.protobuf.Value', kind: { case: undefined } }

function writeNothing(): void {}

/** The error for the sender of a value that could not be written. */
function unsendable(typeName: string, error: unknown): unknown {
  if (error instanceof MicroserviceError) return error
  if (error instanceof Misfit)
    return new OptionError(`data${error.path}`, `data${error.path} ${error.message}`)
  return new OptionError('data', `data cannot be sent as ${typeName}: ${reason(error)}`, error)
}

/** Turns a failure while bytes or JSON are read into an error for the receiver. */
function receiving<Result>(typeName: string, read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    if (error instanceof Misfit)
      throw new ProtocolError(
        `A message ${typeName} cannot be read: data${error.path} ${error.message}`,
        error
      )
    throw new ProtocolError(`The bytes or JSON are not a message ${typeName}: ${reason(error)}`, error)
  }
}

/** Why protobuf-es, or a getter of the user, has failed. */
function reason(error: unknown): string {
  if (error instanceof RangeError && /call stack/i.test(error.message))
    return 'it contains itself, or is nested too deep'
  return error instanceof Error ? error.message : describe(error)
}
