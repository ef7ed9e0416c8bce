/**
 * The decoders in the schemas of a route. When a decoder throws, Elysia passes on what it has thrown, so the error of
 * a value that a stranger has sent could not be told from a bug.
 */
import { MicroserviceError, RpcError } from '@elysia-microservices/transport/kit'
import { TransformKind } from '@sinclair/typebox'
import { pathPart } from '../schema/check.ts'
import { isTypeBox, readElysiaError } from './elysia-errors.ts'
import { numericStatus } from './error-status.ts'

type Decode = (value: unknown) => unknown

/** The schemas of a route by part, with decoders that say where the value is that they do not take. */
export function withToldDecoders<Schemas extends Readonly<Record<string, unknown>>>(
  schemas: Schemas
): Schemas {
  return Object.fromEntries(
    Object.entries(schemas).map(([part, schema]) => [part, isTypeBox(schema) ? told(schema, part) : schema])
  ) as Schemas
}

/** A copy of a schema whose decoders are wrapped; the schema itself if it has none. */
function told(schema: unknown, path: string): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema))
    return unchangedOr(
      schema,
      schema.map((member) => told(member, path))
    )
  const copy: Record<PropertyKey, unknown> = {}
  for (const key of Reflect.ownKeys(schema)) {
    const member: unknown = Reflect.get(schema, key)
    if (key === TransformKind) copy[key] = toldTransform(member as { readonly Decode: Decode }, path)
    else if (key === 'properties') copy[key] = toldProperties(member as object, path)
    else copy[key] = told(member, path)
  }
  return unchangedOr(schema, copy)
}

function toldProperties(properties: object, path: string): object {
  const entries = Object.entries(properties).map(([name, schema]) => [
    name,
    told(schema, path + pathPart(name))
  ])
  return unchangedOr(properties, Object.fromEntries(entries))
}

function unchangedOr<Given extends object>(given: Given, copy: object): Given {
  const isChanged = Reflect.ownKeys(copy).some((key) => Reflect.get(copy, key) !== Reflect.get(given, key))
  return isChanged ? (copy as Given) : given
}

function toldTransform(transform: { readonly Decode: Decode }, path: string): object {
  const { Decode: decode } = transform
  return {
    ...transform,
    Decode(value: unknown) {
      try {
        return decode(value)
      } catch (error) {
        throw isAnswer(error) ? error : refusal(path, error)
      }
    }
  }
}

/** Whether a decoder has thrown an answer on purpose, and not only that it does not take the value. */
function isAnswer(error: unknown): boolean {
  try {
    if (error instanceof MicroserviceError) return true
    return numericStatus(error) !== undefined && readElysiaError(error)?.kind !== 'schema'
  } catch {
    return false
  }
}

function refusal(path: string, error: unknown): RpcError {
  const expected = expectedBy(error) ?? 'a value that can be decoded'
  return new RpcError({
    code: 'VALIDATION',
    message: `${path}: expected ${expected}`,
    details: { path, expected }
  })
}

/** The value that a type of Elysia itself expects, such as `t.Integer({ minimum: 1 })`. */
function expectedBy(error: unknown): string | undefined {
  try {
    const read = readElysiaError(error)
    const message = read?.kind === 'schema' ? read.all[0]?.message : undefined
    return message?.replace(/^Expected (value to be )?/, '')
  } catch {
    return undefined
  }
}
