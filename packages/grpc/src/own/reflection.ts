/**
 * `grpc.reflection.v1.ServerReflection`, and the same under its old name `v1alpha`: by it `grpcurl` and other tools learn
 * the methods of a server and their messages. grpc: doc/server-reflection.md.
 *
 *   message ServerReflectionRequest {
 *     string host = 1;
 *     oneof message_request {
 *       string file_by_filename = 3; string file_containing_symbol = 4;
 *       ExtensionRequest file_containing_extension = 5; string all_extension_numbers_of_type = 6; string list_services = 7;
 *     }
 *   }
 *   message ExtensionRequest { string containing_type = 1; int32 extension_number = 2; }
 */
import {
  concatBytes,
  GrpcStatus,
  type IncomingMessage,
  shown,
  text
} from '@elysia-microservices/transport/kit'
import type { GrpcMethod, MessageCodec } from '../methods.ts'
import { bytesField, numberField, readFields, varint } from '../wire/protobuf.ts'
import type { FileIndex, IndexedFile } from './file-index.ts'
import type { OwnService } from './own-services.ts'

/** The questions, by the numbers of their fields. */
const Question = { FILE: 3, SYMBOL: 4, EXTENSION: 5, EXTENSIONS: 6, SERVICES: 7 } as const

/** The names of the two versions, whose messages are the same. */
export const REFLECTION_NAMES = [
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection'
] as const

/** A question of a client. */
interface Asked {
  readonly host: string
  /** One of `Question`; 0: the client asks nothing that is known here. */
  readonly kind: number
  /** A name, or the name of the extended message. */
  readonly name: string
  /** The number of an extension. */
  readonly number: number
  /** The question as it has come: the answer repeats it. */
  readonly bytes: Uint8Array
}

/** Tells the services of a server, and the files that describe them. */
export class Reflection implements OwnService {
  readonly name: string
  readonly methods: readonly GrpcMethod[]
  readonly #services: readonly string[]
  readonly #files: () => FileIndex

  /**
   * @param name one of `REFLECTION_NAMES`
   * @param services the names of all services of the server
   * @param files is called for the first question
   */
  constructor(name: string, services: readonly string[], files: () => FileIndex) {
    const path = `${name}/ServerReflectionInfo`
    this.name = name
    this.#services = services
    this.#files = files
    this.methods = [
      {
        path,
        pattern: path,
        kind: 'message',
        clientStreams: true,
        serverStreams: true,
        input: QUESTION,
        output: ANSWER
      }
    ]
  }

  answer({ data }: IncomingMessage): AsyncIterable<Uint8Array> {
    return this.#answers(data as AsyncIterable<Asked>)
  }

  async *#answers(questions: AsyncIterable<Asked>): AsyncGenerator<Uint8Array> {
    // A file is sent with all that it imports, but what the client has got already is not sent twice.
    const sent = new Set<string>()
    for await (const asked of questions) yield answerTo(asked, this.#partFor(asked, sent))
  }

  #partFor({ kind, name, number }: Asked, sent: Set<string>): Uint8Array {
    const files = this.#files()
    switch (kind) {
      case Question.SERVICES: {
        const services = this.#services.map((service) => bytesField(1, bytesField(1, Buffer.from(service))))
        return bytesField(6, concatBytes(services))
      }
      case Question.FILE:
        return fileAnswer(files, files.file(name), sent, `no file '${shown(name)}'`)
      case Question.SYMBOL:
        return fileAnswer(files, files.declaring(name), sent, `nothing with the name '${shown(name)}'`)
      case Question.EXTENSION: {
        const file = files.extending(name, number)
        return fileAnswer(files, file, sent, `no extension ${number} of '${shown(name)}'`)
      }
      case Question.EXTENSIONS: {
        const numbers = files.extensionsOf(name)
        if (numbers === undefined)
          return failure(GrpcStatus.NOT_FOUND, `There is no message '${shown(name)}'`)
        const packed = Uint8Array.from(numbers.flatMap(varint))
        const list = packed.length === 0 ? [] : [bytesField(2, packed)]
        return bytesField(5, concatBytes([bytesField(1, Buffer.from(name)), ...list]))
      }
      default:
        return failure(GrpcStatus.UNIMPLEMENTED, 'The question is none that this server knows')
    }
  }
}

/** `ServerReflectionResponse`. */
function answerTo({ host, bytes }: Asked, part: Uint8Array): Uint8Array {
  const valid = host === '' ? [] : [bytesField(1, Buffer.from(host))]
  return concatBytes([...valid, bytesField(2, bytes), part])
}

function fileAnswer(
  files: FileIndex,
  file: IndexedFile | undefined,
  sent: Set<string>,
  missing: string
): Uint8Array {
  if (file === undefined) return failure(GrpcStatus.NOT_FOUND, `There is ${missing}`)
  return bytesField(4, concatBytes(files.withImports(file, sent).map((one) => bytesField(1, one))))
}

function failure(code: number, message: string): Uint8Array {
  return bytesField(7, concatBytes([numberField(1, code), bytesField(2, Buffer.from(message))]))
}

// ── messages ───────────────────────────────────────────────────────────────────────────────────────────

/** Values are bytes when they are written, and `Asked` when they are read. */
const QUESTION: MessageCodec = {
  encode: (question) => question as Uint8Array,
  decode(bytes): Asked {
    let host = ''
    let kind = 0
    let asked: Uint8Array = new Uint8Array()
    const isRead = readFields(bytes, (number, value) => {
      if (typeof value === 'number') return true
      if (number === 1) host = text.read(value, 0, value.length)
      if (number >= Question.FILE && number <= Question.SERVICES) {
        // Of a oneof the last one counts.
        kind = number
        asked = value
      }
      return true
    })
    if (!isRead) throw new Error('data: it is no ServerReflectionRequest')
    if (kind !== Question.EXTENSION)
      return { host, kind, name: text.read(asked, 0, asked.length), number: 0, bytes }
    let name = ''
    let number = 0
    const isExtension = readFields(asked, (field, value) => {
      if (field === 1 && typeof value !== 'number') name = text.read(value, 0, value.length)
      if (field === 2 && typeof value === 'number') number = value
      return true
    })
    if (!isExtension) throw new Error('data: it is no ExtensionRequest')
    return { host, kind, name, number, bytes }
  }
}

const ANSWER: MessageCodec = { encode: (answer) => answer as Uint8Array, decode: (bytes) => bytes }
