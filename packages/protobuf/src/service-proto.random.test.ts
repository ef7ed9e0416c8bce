/** Random schemas: the `.proto` is read by another parser, and values come back as they were. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import type { DescribedService } from './schema/described.ts'
import type { ProtoNumbers } from './schema/numbers.ts'
import { serviceProto } from './service-proto.ts'
import { protoOfText } from './testing/of-text.ts'
import { randomSchema } from './testing/random-schema.ts'

function serviceOf(data: object, response: object = data): DescribedService {
  return {
    name: 'random',
    handlers: [
      {
        kind: 'message',
        patterns: [{ kind: 'exact', pattern: 'random.try' }],
        data: data as Record<string, unknown>,
        response: response as Record<string, unknown>
      }
    ]
  }
}

describe('the .proto of random schemas', () => {
  it('carries values as they were, for us and for a program that has only the file', async () => {
    await fc.assert(
      fc.asyncProperty(
        randomSchema.chain(({ schema, values }) =>
          fc.tuple(fc.constant(schema), fc.array(values, { minLength: 1, maxLength: 3 }))
        ),
        async ([schema, values]) => {
          const ours = serviceProto(serviceOf(schema))
          const theirs = await protoOfText(ours.text)
          const method = ours.services[0]!.methods[0]!
          const other = theirs.method(method.path)!
          for (const value of values) {
            const bytes = method.input.encode(value)
            assert.deepEqual(method.input.decode(bytes), value)
            assert.deepEqual(other.input.encode(other.input.decode(bytes)), bytes)
            assert.deepEqual(method.input.fromJson(other.input.toJson(other.input.decode(bytes))), value)
            assert.deepEqual(method.output.decode(method.output.encode(value)), value)
          }
        }
      ),
      { numRuns: runs(200) }
    )
  })

  it('is the same whenever it is written, and keeps its numbers when it is written again', () => {
    fc.assert(
      fc.property(randomSchema, randomSchema, ({ schema: one }, { schema: two }) => {
        const first = serviceProto(serviceOf(one))
        const again = serviceProto(serviceOf(one), { numbers: JSON.parse(JSON.stringify(first.numbers)) })
        assert.equal(again.text, first.text)
        assert.deepEqual(again.numbers, first.numbers)
        const second = serviceProto(serviceOf(two), { numbers: first.numbers })
        keepsNumbers(first.numbers, second.numbers)
        const back = serviceProto(serviceOf(one), { numbers: second.numbers })
        keepsNumbers(second.numbers, back.numbers)
      }),
      { numRuns: runs(200) }
    )
  })

  it('is read with reserved numbers, too', async () => {
    await fc.assert(
      fc.asyncProperty(randomSchema, randomSchema, async ({ schema: one }, { schema: two }) => {
        const { numbers } = serviceProto(serviceOf(one))
        const { text } = serviceProto(serviceOf(two), { numbers })
        assert.equal((await protoOfText(text)).services.length, 1)
      }),
      { numRuns: runs(50) }
    )
  })
})

/** No number has got another meaning: what was kept is there, or its number is retired. */
function keepsNumbers(before: ProtoNumbers, after: ProtoNumbers): void {
  for (const kind of ['messages', 'enums'] as const)
    for (const [message, fields] of Object.entries(before[kind])) {
      const now = Object.entries(after[kind][message] ?? {})
      for (const [name, { number, type }] of Object.entries(fields)) {
        const same = now.find(([one]) => one === name)?.[1]
        if (same?.number === number) assert.equal(same.type, type, `${message}.${name}`)
        else assert.ok(after.retired[message]?.includes(number), `${message}.${name} = ${number}`)
        for (const [other, { number: its }] of now) if (other !== name) assert.notEqual(its, number)
      }
      for (const { number } of now.map(([, one]) => one)) assert.ok(!after.retired[message]?.includes(number))
    }
}
