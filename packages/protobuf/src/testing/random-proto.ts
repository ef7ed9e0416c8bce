/** Random `.proto` files, with random values of their messages in the default shapes. */
import { protoCamelCase } from '@bufbuild/protobuf/reflect'
import fc from 'fast-check'

/** A random file. */
export interface RandomProto {
  readonly text: string
  /** Full names of the messages, the first of which is `M0`. */
  readonly messages: readonly string[]
  /** Values of the first message, as they arrive. */
  readonly values: fc.Arbitrary<Record<string, unknown>>
}

const SCALARS = {
  double: fc.double(),
  float: fc.float(),
  int32: fc.integer(),
  sint32: fc.integer(),
  sfixed32: fc.integer(),
  uint32: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  fixed32: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  int64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  sint64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  sfixed64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  uint64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fixed64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  bool: fc.boolean(),
  string: fc.string({ unit: 'grapheme' }),
  bytes: fc.uint8Array({ maxLength: 8 })
} as const

const KEYS = ['int32', 'uint64', 'bool', 'string'] as const
const ENUM = ['E_ZERO', 'E_ONE', 'E_FAR'] as const
const MOST_MESSAGES = 4

type Kind = 'single' | 'optional' | 'repeated' | 'map' | 'oneof'

interface Field {
  readonly kind: Kind
  /** A scalar, `E`, or a message such as `M1`. */
  readonly type: string
  readonly key: (typeof KEYS)[number]
  readonly name: string
}

const field = fc.record({
  kind: fc.constantFrom<Kind>('single', 'single', 'optional', 'repeated', 'map', 'oneof'),
  type: fc.constantFrom(
    ...Object.keys(SCALARS),
    'E',
    ...Array.from({ length: MOST_MESSAGES }, (_, index) => `M${index}`)
  ),
  key: fc.constantFrom(...KEYS),
  name: fc.constantFrom('a', 'some_field', 'b_c_d', 'x_1')
})

/** Random files of proto3, with one to four messages that may contain each other. */
export const randomProto: fc.Arbitrary<RandomProto> = fc
  .array(fc.array(field, { maxLength: 6 }), { minLength: 1, maxLength: MOST_MESSAGES })
  .map((drawn) => {
    const messages = drawn.map((fields) =>
      fields.map((one, index) => ({
        ...one,
        name: `${one.name}_${index}`,
        type: one.type.startsWith('M') ? `M${Number(one.type.slice(1)) % drawn.length}` : one.type
      }))
    )
    return {
      text: textOf(messages),
      messages: messages.map((_, index) => `random.M${index}`),
      values: messageOf(messages, 0, 0)
    }
  })

function textOf(messages: readonly (readonly Field[])[]): string {
  const bodies = messages.map((fields, index) => {
    const numbered = fields.map((one, at) => ({ ...one, number: (at + 1) * (at > 3 ? 1000 : 1) }))
    const plain = numbered.filter(({ kind }) => kind !== 'oneof').map((one) => `  ${line(one)}`)
    const grouped = numbered.filter(({ kind }) => kind === 'oneof').map((one) => `    ${line(one)}`)
    const oneof = grouped.length === 0 ? [] : ['  oneof the_choice {', ...grouped, '  }']
    return [`message M${index} {`, ...plain, ...oneof, '}'].join('\n')
  })
  const names = messages.map((_, index) => `M${index}`)
  const service = [
    'service Random {',
    ...names.map((name) => `  rpc Get${name} (${name}) returns (${name});`),
    '}'
  ]
  return [
    'syntax = "proto3";',
    'package random;',
    'enum E { E_ZERO = 0; E_ONE = 1; E_FAR = -5; }',
    ...bodies,
    ...service,
    ''
  ].join('\n')
}

function line({ kind, type, key, name, number }: Field & { readonly number: number }): string {
  const label = kind === 'repeated' ? 'repeated ' : kind === 'optional' ? 'optional ' : ''
  return `${label}${kind === 'map' ? `map<${key}, ${type}>` : type} ${name} = ${number};`
}

/** @param depth how many messages are around this one */
function messageOf(
  messages: readonly (readonly Field[])[],
  index: number,
  depth: number
): fc.Arbitrary<Record<string, unknown>> {
  const fields = messages[index] as readonly Field[]
  const isDeep = depth > 2
  const always: Record<string, fc.Arbitrary<unknown>> = {}
  const maybe: Record<string, fc.Arbitrary<unknown>> = {}
  const choices: [string, fc.Arbitrary<unknown>][] = []
  for (const { kind, type, key, name } of fields) {
    const property = protoCamelCase(name)
    const isMessage = type.startsWith('M')
    const one = isMessage && isDeep ? undefined : itemOf(messages, type, depth)
    if (kind === 'repeated')
      always[property] = one === undefined ? fc.constant([]) : fc.array(one, { maxLength: 3 })
    else if (kind === 'map')
      always[property] =
        one === undefined
          ? fc.constant({})
          : fc.dictionary(keyOf(key), one, { maxKeys: 3, noNullPrototype: true })
    else if (one === undefined) continue
    else if (kind === 'oneof') choices.push([property, one])
    else if (kind === 'optional' || isMessage) maybe[property] = one
    else always[property] = one
  }
  const single = fc.record(
    { ...always, ...maybe },
    { requiredKeys: Object.keys(always), noNullPrototype: true }
  )
  const choice = fc.oneof(
    fc.constant({}),
    ...choices.map(([name, one]) => one.map((value) => ({ [name]: value }) as Record<string, unknown>))
  )
  return fc.tuple(single, choice).map(([some, more]) => ({ ...(some as object), ...more }))
}

function itemOf(messages: readonly (readonly Field[])[], type: string, depth: number): fc.Arbitrary<unknown> {
  if (type === 'E') return fc.constantFrom(...ENUM)
  if (type.startsWith('M')) return messageOf(messages, Number(type.slice(1)), depth + 1)
  return SCALARS[type as keyof typeof SCALARS]
}

function keyOf(key: (typeof KEYS)[number]): fc.Arbitrary<string> {
  return key === 'bool' ? fc.constantFrom('true', 'false') : SCALARS[key].map(String)
}
