import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type } from 'arktype'
import { t } from 'elysia'
import * as v from 'valibot'
import { z } from 'zod'
import { jsonSchemaOf } from './json-schema.ts'

describe('jsonSchemaOf', () => {
  it('takes TypeBox as it is, without what JSON Schema does not know', () => {
    const schema = t.Object({
      n: t.Number({ minimum: 1 }),
      missing: t.Undefined(),
      date: t.Union([t.Date(), t.Null()])
    })
    const { properties } = jsonSchemaOf(schema, 'input') as { properties: Record<string, unknown> }
    assert.deepEqual(properties['n'], { type: 'number', minimum: 1 })
    assert.deepEqual(properties['missing'], {})
    assert.doesNotMatch(JSON.stringify(properties), /"Date"/)
  })

  it('has whole numbers as such, and texts of URLs only where they are taken', () => {
    const integer = { type: 'integer', minimum: 1 }
    const schema = t.Object({ n: t.Optional(t.Integer({ minimum: 1 })), flag: t.BooleanString() })
    const { required, properties } = jsonSchemaOf(schema, 'input') as {
      required: unknown
      properties: Record<string, { anyOf?: unknown[] }>
    }
    assert.deepEqual([required, properties['n'], properties['flag']?.anyOf?.length], [['flag'], integer, 2])
    assert.deepEqual(jsonSchemaOf(schema, 'output'), {
      type: 'object',
      required: ['flag'],
      properties: { n: integer, flag: { type: 'boolean' } }
    })
    assert.deepEqual(jsonSchemaOf(t.AsyncIterator(t.Integer()), 'input'), { type: 'integer' })
  })

  it('asks libraries of Standard Schema that can write JSON Schema, for the side that is described', () => {
    const schema = z.object({ n: z.string().transform(Number).pipe(z.number()) })
    const property = (side: 'input' | 'output') =>
      (jsonSchemaOf(schema, side) as { properties: Record<string, unknown> }).properties['n']
    assert.deepEqual(property('input'), { type: 'string' })
    assert.deepEqual(property('output'), { type: 'number' })
    assert.deepEqual((jsonSchemaOf(type({ a: 'string' }), 'input') as { properties: unknown }).properties, {
      a: { type: 'string' }
    })
  })

  it('knows nothing of a schema whose library cannot write it', () => {
    assert.deepEqual(jsonSchemaOf(v.object({ a: v.string() }), 'input'), {})
    assert.deepEqual(jsonSchemaOf(z.date(), 'input'), {})
  })
})
