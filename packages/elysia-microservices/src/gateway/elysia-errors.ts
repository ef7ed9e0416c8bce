/**
 * Recognises errors of Elysia and TypeBox by their fields. Each copy of Elysia has classes of its own (CommonJS
 * beside ESM, or two versions), so `instanceof` would recognise the errors of one copy only.
 */
import { Kind } from '@sinclair/typebox'
import type { TSchema } from 'elysia'

/** Elysia's report of one wrong value. */
export interface Issue {
  readonly path: string
  readonly message: string
}

/** The thing that a sent value does not fit: a schema, or the decoder of a schema. */
export type ElysiaError =
  | { readonly kind: 'parse' }
  /** A part of the request (`type`) does not fit its schema. */
  | {
      readonly kind: 'schema'
      readonly type: string
      readonly value: unknown
      readonly all: readonly Partial<Issue>[]
    }
  | { readonly kind: 'file'; readonly path: string; readonly expected: unknown }
  /** A decoder inside a schema does not take a value; TypeBox does not say in which part of the request it is. */
  | { readonly kind: 'decoder'; readonly value: unknown; readonly issue: Partial<Issue> }
  /** An answer that a hook of the app has thrown: `status(…)`. */
  | { readonly kind: 'status' }

/** The meaning of an error for Elysia; `undefined` if the error is not one of Elysia's. */
export function readElysiaError(error: unknown): ElysiaError | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, status } = error as { code?: unknown; status?: unknown }
  if (!(error instanceof Error))
    return typeof code === 'number' && 'response' in error ? { kind: 'status' } : undefined
  if (code === 'PARSE' && status === 400) return { kind: 'parse' }
  if (code === 'VALIDATION' && status === 422 && 'validator' in error) return schemaError(error)
  if (code === 'INVALID_FILE_TYPE' && status === 422) {
    const { property, expected } = error as { property?: unknown; expected?: unknown }
    return { kind: 'file', path: String(property), expected }
  }
  if (!('schema' in error && isTypeBox(error.schema) && 'value' in error)) return undefined
  return { kind: 'decoder', value: error.value, issue: Object((error as { error?: unknown }).error) as Issue }
}

function schemaError(error: object): ElysiaError {
  const { type, value, all } = error as { type?: unknown; value?: unknown; all?: unknown }
  return { kind: 'schema', type: String(type), value, all: Array.isArray(all) ? (all as Issue[]) : [] }
}

/** Whether a schema is one of TypeBox, such as those that Elysia's `t` makes. */
export function isTypeBox(schema: unknown): schema is TSchema {
  return typeof schema === 'object' && schema !== null && Kind in schema
}
