/** Several schemas for one part of a message, which must all hold. */
import { isStream, ValidationError, whenSettled } from '@elysia-microservices/transport/kit'
import { isPromise, whenThere } from '../hooks/promise.ts'
import type { Check } from './check.ts'
import { mapStream } from './mapped-stream.ts'
import { mergedValue } from './merged-value.ts'
import type { AnySchema } from './schema-types.ts'

/** The schemas and, if they describe a stream, the check of its values, of each check that was compiled. */
interface Source {
  readonly schemas: readonly AnySchema[]
  readonly items?: Check | undefined
}

const sources = new WeakMap<Check, Source>()

/** Remembers the schema of a check. */
export function remembered(check: Check, schema: AnySchema, items?: Check): Check {
  sources.set(check, { schemas: [schema], items })
  return check
}

/** The schemas from which a check was compiled, for descriptions. */
export function sourcesOf(check: Check): readonly AnySchema[] {
  return sources.get(check)?.schemas ?? []
}

/**
 * The check of the values of a stream.
 * @throws {ValidationError} the data is not a stream
 */
export function streamCheck(items: Check): Check {
  return (value) => {
    if (typeof value === 'object' && value !== null && isStream(value)) return mapStream(value, items)
    throw new ValidationError('data', 'a stream', value)
  }
}

/**
 * One check from several. Each of them gets the value as it was sent; the result has what each of them makes of it.
 * A stream can be read only once, so its values go through all checks of values together.
 */
export function allOf(given: readonly Check[]): Check {
  const checks = [...new Set(given)]
  const [first, ...others] = checks
  if (first === undefined || others.length === 0) return first ?? ((value) => value)
  const items = checks.flatMap((check) => sources.get(check)?.items ?? [])
  const whole = checks.filter((check) => sources.get(check)?.items === undefined)
  const check = items.length === 0 ? oneByOne(whole) : ofStream(allOf(items), whole)
  sources.set(check, {
    schemas: checks.flatMap((one) => sourcesOf(one)),
    items: whole.length === 0 ? allOf(items) : undefined
  })
  return check
}

function ofStream(items: Check, whole: readonly Check[]): Check {
  const stream = streamCheck(items)
  if (whole.length === 0) return stream
  const before = allOf(whole)
  return (value) => whenThere(before(value), () => stream(value))
}

function oneByOne(checks: readonly Check[]): Check {
  const from = (index: number, value: unknown, merged: unknown): unknown => {
    let result = merged
    for (let at = index; at < checks.length; at++) {
      const made = (checks[at] as Check)(value)
      const before = result
      const next = (settled: unknown) => (at === 0 ? settled : mergedValue(value, before, settled))
      if (isPromise(made)) return whenSettled(made, (settled) => from(at + 1, value, next(settled)))
      result = next(made)
    }
    return result
  }
  return (value) => from(0, value, undefined)
}
