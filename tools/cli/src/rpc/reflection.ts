/**
 * Asks a server for the descriptors of a service, by gRPC's reflection. grpc: doc/server-reflection.md. Its messages
 * are read and written here, because they have two fields each.
 */
import {
  OptionError,
  PatternNotFoundError,
  ProtocolError,
  type Transport
} from '@elysia-microservices/transport/kit'
import { connect } from 'elysia-microservices/client'
import { bytesField, fieldsOf } from './fields.ts'

/** The method, by its newest name first. */
const METHODS = ['v1', 'v1alpha'].map(
  (version) => `grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`
)
/** Fields of `ServerReflectionRequest`. */
const FILE_BY_NAME = 3
const FILE_BY_SYMBOL = 4
/** Fields of `ServerReflectionResponse`, and of the messages in it. */
const FILES = 4
const FILE = 1
const FAILURE = 7
const FAILURE_MESSAGE = 2
/** Fields of `FileDescriptorProto`. */
const NAME = 1
const DEPENDENCY = 3

/** Most files of a service, because the server is not trusted. */
const MAX_FILES = 10_000

interface Question {
  readonly field: number
  readonly name: string
}

interface Answer {
  readonly files: readonly Uint8Array[]
  readonly failure: string | undefined
}

const codecs = {
  input: {
    encode: (value: unknown) => {
      const { field, name } = value as Question
      return bytesField(field, Buffer.from(name))
    },
    decode: (bytes: Uint8Array) => bytes
  },
  output: { encode: () => new Uint8Array(), decode: answerIn }
}

/** The reflection service, as `grpc({ proto })` takes methods. */
const REFLECTION = {
  method(path: string) {
    return METHODS.includes(path)
      ? { path, pattern: path, kind: 'message', clientStreams: true, serverStreams: true, ...codecs }
      : undefined
  }
}

/**
 * The descriptors of a service with all that it needs: the bytes of a `google.protobuf.FileDescriptorSet`.
 * @param make makes a transport with these methods
 * @throws {OptionError} the server has no reflection, or not this service
 */
export async function reflected(make: (methods: object) => Transport, service: string): Promise<Uint8Array> {
  const client = connect({
    transport: make(REFLECTION),
    waitForConnection: 0,
    logger: { error() {}, warn() {} }
  })
  const askBy = (method: string) => async (question: Question) => {
    const asked = (async function* () {
      yield question
    })()
    for await (const answer of client.stream<Answer>(method, asked)) return answer
    throw new ProtocolError('The server ends the call of its reflection without an answer')
  }
  try {
    for (const method of METHODS) {
      const ask = askBy(method)
      const first = await ask({ field: FILE_BY_SYMBOL, name: service }).catch((error: unknown) => {
        if (!isUnimplemented(error)) throw error
      })
      if (first !== undefined) return await allFiles(ask, first, service)
    }
  } finally {
    await client.close()
  }
  throw new OptionError(
    '--proto',
    'The server does not tell its methods (it has no reflection): give its file by --proto=<file>'
  )
}

/** The files of the first answer, and all that they need. */
async function allFiles(
  ask: (question: Question) => Promise<Answer>,
  first: Answer,
  service: string
): Promise<Uint8Array> {
  const files = new Map<string, Uint8Array>()
  const wanted = new Set<string>()
  const take = (answer: Answer) => {
    for (const file of answer.files) {
      let name = ''
      for (const [field, value] of fieldsOf(file)) {
        if (field === NAME) name = Buffer.from(value).toString()
        if (field === DEPENDENCY) wanted.add(Buffer.from(value).toString())
      }
      files.set(name, file)
    }
    if (files.size > MAX_FILES) throw new ProtocolError(`The service has more than ${MAX_FILES} files`)
  }
  if (first.failure !== undefined)
    throw new PatternNotFoundError(`The server has no service ${service}: ${first.failure}`)
  take(first)
  for (const name of wanted) {
    if (files.has(name)) continue
    const answer = await ask({ field: FILE_BY_NAME, name })
    if (answer.failure !== undefined)
      throw new ProtocolError(`The server does not give the file ${name}: ${answer.failure}`)
    take(answer)
  }
  return Buffer.concat([...files.values()].map((file) => bytesField(FILE, file)))
}

function answerIn(bytes: Uint8Array): Answer {
  const files: Uint8Array[] = []
  let failure: string | undefined
  for (const [field, value] of fieldsOf(bytes)) {
    if (field === FILES) for (const [inner, file] of fieldsOf(value)) if (inner === FILE) files.push(file)
    if (field !== FAILURE) continue
    failure = 'it says no more'
    for (const [inner, text] of fieldsOf(value))
      if (inner === FAILURE_MESSAGE) failure = Buffer.from(text).toString()
  }
  return { files, failure }
}

/** Servers of other libraries say it by the name of gRPC's status. */
function isUnimplemented(error: unknown): boolean {
  return ['PATTERN_NOT_FOUND', 'UNIMPLEMENTED'].includes(Object(error).code)
}
