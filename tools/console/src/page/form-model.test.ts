import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Draft, emptyDraft, type Field, fieldOf, readDraft } from './form-model.ts'

const SCHEMA = {
  type: 'object',
  required: ['name', 'items'],
  properties: {
    name: { type: 'string', minLength: 1 },
    age: {
      anyOf: [
        { type: 'string', format: 'integer' },
        { type: 'integer', minimum: 0 }
      ]
    },
    isNew: { type: 'boolean' },
    colour: {
      anyOf: [
        { const: 'red', type: 'string' },
        { const: 7, type: 'number' }
      ]
    },
    items: { type: 'array', items: { type: 'number' } },
    where: { type: 'object', required: ['city'], properties: { city: { type: 'string' } } },
    tree: { $ref: '#/definitions/T' }
  }
}

describe('a form', () => {
  const field = fieldOf(SCHEMA)
  const read = (...drafts: Draft[]) => readDraft(field, drafts, true, '')

  it('has a field for each property', () => {
    assert.equal(field.kind, 'group')
    assert.deepEqual(
      (field as Extract<Field, { kind: 'group' }>).members.map(({ name, isRequired, field }) => [
        name,
        isRequired,
        field.kind
      ]),
      [
        ['name', true, 'text'],
        ['age', false, 'number'],
        ['isNew', false, 'boolean'],
        ['colour', false, 'choice'],
        ['items', true, 'list'],
        ['where', false, 'group'],
        ['tree', false, 'json']
      ]
    )
    assert.deepEqual(emptyDraft(field), ['', '', '', '', [], [''], ''])
  })

  it('reads what was typed, and leaves out what is empty and may be', () => {
    assert.deepEqual(read('Ada', '', '', '', [], [''], ''), { value: { name: 'Ada', items: [] } })
    assert.deepEqual(read('Ada', '36', 'false', '1', ['1', '2.5'], ['Paris'], '{"a":[]}'), {
      value: {
        name: 'Ada',
        age: 36,
        isNew: false,
        colour: 7,
        items: [1, 2.5],
        where: { city: 'Paris' },
        tree: { a: [] }
      }
    })
  })

  it('says what is wrong, and where', () => {
    assert.deepEqual(read('', 'x', '', '', [], [''], ''), { wrong: 'x is no number', at: 'age' })
    assert.deepEqual(read('', '', '', '', ['1', ''], [''], ''), { wrong: 'needs a value', at: 'items[1]' })
    const wrong = read('', '', '', '', [], [''], '{')
    assert.match('wrong' in wrong ? wrong.wrong : '', /is not JSON/)
  })

  it('is of any schema whatever, and its empty draft can always be read', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.boolean(), (schema, isRequired) => {
        const field = fieldOf(schema)
        const read = readDraft(field, emptyDraft(field), isRequired, '')
        assert.ok('value' in read || read.wrong !== '')
      })
    )
    const hostile = [
      { type: 'object', properties: [] },
      { type: 'object', properties: { a: null } },
      { type: ['string'] },
      { anyOf: [] },
      { anyOf: [null, null] },
      { enum: [] },
      { type: 'array', items: [{ type: 'number' }] }
    ]
    for (const schema of hostile) assert.ok(fieldOf(schema).kind)
    const deep = (n: number): object => ({ type: 'object', properties: { a: n === 0 ? {} : deep(n - 1) } })
    assert.doesNotThrow(() => emptyDraft(fieldOf(deep(1_000))))
  })
})
