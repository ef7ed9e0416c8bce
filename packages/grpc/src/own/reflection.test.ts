/** Questions about the files of a server, as tools ask them. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { loadProto, type Proto } from '@elysia-microservices/protobuf'
import { collected, within } from '@elysia-microservices/test-support'
import { IncomingMessage } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { bytesField, numberField, readFields } from '../wire/protobuf.ts'
import { OWN_DESCRIPTORS } from './descriptors.ts'
import { FileIndex } from './file-index.ts'
import { REFLECTION_NAMES, Reflection } from './reflection.ts'

const protos = fileURLToPath(new URL('../../src/testing/protos/', import.meta.url))
const [NAME] = REFLECTION_NAMES

/** A message as text: `{4:{1:"a"}}`, where bytes that are no message are a text. */
interface Answer {
  readonly part: number
  /** Names of files, names of services, or numbers of extensions. */
  readonly found: readonly (string | number)[]
  readonly code?: number
}

/** Reads an answer by hand. */
function answerIn(bytes: Uint8Array, question: Uint8Array): Answer {
  let answer: Answer | undefined
  let repeated: Uint8Array | undefined
  readFields(bytes, (part, value) => {
    if (typeof value === 'number') return false
    if (part === 2) repeated = value
    else if (part > 3) answer = { part, ...contentOf(part, value) }
    return true
  })
  assert.deepEqual(Buffer.from(repeated!), Buffer.from(question))
  assert.ok(answer)
  return answer
}

function contentOf(part: number, bytes: Uint8Array): Omit<Answer, 'part'> {
  const found: (string | number)[] = []
  let code: number | undefined
  readFields(bytes, (number, value) => {
    if (typeof value === 'number') code = value
    else if (part === 5 && number === 2) found.push(...value)
    else if (part === 4 || part === 6)
      readFields(value, (at, name) => {
        if (at === 1 && typeof name !== 'number') found.push(Buffer.from(name).toString())
        return at !== 1
      })
    else found.push(Buffer.from(value).toString())
    return true
  })
  return code === undefined ? { found } : { found, code }
}

async function* values<Value>(...all: readonly Value[]) {
  yield* all
}

describe('reflection', () => {
  let proto: Proto
  let reflection: Reflection
  before(async () => {
    proto = await loadProto({
      files: [`${protos}shop/orders.proto`],
      includeDirs: [protos]
    })
    const index = new FileIndex([
      proto.descriptors(),
      ...OWN_DESCRIPTORS.map((one) => Buffer.from(one, 'base64'))
    ])
    reflection = new Reflection(NAME, ['shop.Orders', NAME], () => index)
  })

  /** The answers to questions on one stream. */
  async function ask(...questions: readonly Uint8Array[]): Promise<Answer[]> {
    const [method] = reflection.methods
    const message = new IncomingMessage({
      transport: 'grpc',
      kind: 'request',
      pattern: method!.pattern,
      route: method!.pattern,
      data: values(...questions.map((one) => method!.input.decode(one))),
      metadata: {},
      timeout: undefined,
      arrivedAt: 0,
      peer: undefined
    })
    const answers = await within(collected(reflection.answer(message)), 'answers')
    return answers.map((one, at) => answerIn(method!.output.encode(one), questions[at]!))
  }
  const text = (number: number, name: string) => bytesField(number, Buffer.from(name))
  const extension = (name: string, number: number) =>
    bytesField(5, Buffer.concat([text(1, name), numberField(2, number)]))

  it('lists the services', async () => {
    assert.deepEqual(await ask(text(7, '*')), [{ part: 6, found: ['shop.Orders', NAME] }])
  })

  it('finds files by their names, with all that they import, and sends none twice', async () => {
    const [whole, again, alone] = await ask(
      text(3, 'shop/orders.proto'),
      text(3, 'shop/orders.proto'),
      text(3, 'shop/money.proto')
    )
    assert.deepEqual(whole, { part: 4, found: ['shop/orders.proto', 'shop/money.proto'] })
    assert.deepEqual(again, { part: 4, found: ['shop/orders.proto'] })
    assert.deepEqual(alone, { part: 4, found: ['shop/money.proto'] })
  })

  it('finds files by everything that has a name in them', async () => {
    for (const symbol of [
      'shop.Orders',
      'shop.Orders.GetTotal',
      'shop.Order',
      'shop.Order.lines',
      'shop.Order.Line',
      'shop.Order.Line.price',
      'shop.Order.payment',
      'shop.Order.Kind',
      'shop.Order.PRESENT'
    ])
      assert.deepEqual((await ask(text(4, symbol)))[0]?.found[0], 'shop/orders.proto', symbol)
    assert.deepEqual((await ask(text(4, 'shop.Money')))[0]?.found, ['shop/money.proto'])
    assert.deepEqual((await ask(text(4, 'grpc.health.v1.Health')))[0]?.found, ['grpc/health/v1/health.proto'])
  })

  it('finds extensions, of which protoc tells', async () => {
    const index = new FileIndex([withExtension()])
    reflection = new Reflection(NAME, [], () => index)
    assert.deepEqual(await ask(extension('shop.Order', 100), text(6, 'shop.Order'), text(6, 'shop.Nobody')), [
      { part: 4, found: ['more.proto'] },
      { part: 5, found: ['shop.Order', 100] },
      { part: 7, found: ["There is no message 'shop.Nobody'"], code: 5 }
    ])
  })

  it('says what there is not, and goes on', async () => {
    const [file, symbol, none, unknown, services] = await ask(
      text(3, '../../etc/passwd'),
      text(4, 'shop.\nNobody'),
      extension('shop.Order', 7),
      new Uint8Array(),
      text(7, '')
    )
    assert.deepEqual(file, { part: 7, found: ["There is no file '../../etc/passwd'"], code: 5 })
    assert.equal(symbol?.code, 5)
    assert.ok(!String(symbol?.found).includes('\n'))
    assert.equal(none?.code, 5)
    assert.equal(unknown?.code, 12)
    assert.equal(services?.part, 6)
  })

  it('answers questions of any bytes, or refuses them with a sentence', () => {
    const [method] = reflection.methods
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        try {
          method!.input.decode(bytes)
        } catch (error) {
          assert.match((error as Error).message, /^data: it is no (ServerReflection|Extension)Request$/)
        }
      })
    )
  })
})

/** A file `more.proto` that extends `shop.Order` by a field with the number 100. */
function withExtension(): Uint8Array {
  const text = (number: number, name: string) => bytesField(number, Buffer.from(name))
  const field = Buffer.concat([text(1, 'note'), text(2, '.shop.Order'), numberField(3, 100)])
  return bytesField(1, Buffer.concat([text(1, 'more.proto'), text(2, 'more'), bytesField(7, field)]))
}

describe('the files of health and reflection', () => {
  it('are those of their .proto', async () => {
    for (const [at, file] of [
      'health/v1/health.proto',
      'reflection/v1/reflection.proto',
      'reflection/v1alpha/reflection.proto'
    ].entries()) {
      const proto = await loadProto({ files: `${protos}grpc/${file}`, includeDirs: [protos] })
      assert.equal(OWN_DESCRIPTORS[at], Buffer.from(proto.descriptors()).toString('base64'), file)
    }
  })
})
