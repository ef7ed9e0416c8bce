/**
 * Handles TypeBox schemas without loading TypeBox. The compiler of such schemas loads Elysia, 8 MB that a service
 * without a TypeBox schema does not need, so it is loaded with the first such schema.
 */
import type { TSchema } from 'elysia'
import type { Check } from './check.ts'
import type { SchemaRole, typeBoxCheck } from './typebox-check.ts'

/** TypeBox's own symbol, which marks its schemas. */
const KIND = Symbol.for('TypeBox.Kind')

/** Whether a schema is a TypeBox schema. */
export function isTypeBox(schema: object): schema is TSchema {
  return KIND in schema
}

/** The schema of a stream's values, if the schema describes a stream: `t.AsyncIterator(…)`. */
export function itemsOf(schema: object): TSchema | undefined {
  return Reflect.get(schema, KIND) === 'AsyncIterator' ? (schema as { items?: TSchema }).items : undefined
}

let compile: typeof typeBoxCheck | undefined
let loading: Promise<void> | undefined
/** Functions that compile the schemas which could not be compiled yet. */
const waiting = new Set<() => void>()

/**
 * Resolves when all schemas so far are compiled.
 * @throws TypeBox's error for the first schema that it cannot compile, each time
 */
export async function schemasCompiled(): Promise<void> {
  await loading
  const errors: unknown[] = []
  for (const compileNow of waiting) {
    try {
      compileNow()
      waiting.delete(compileNow)
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}

/**
 * Makes the check for a schema. Its results are promises until the schema is compiled, which happens before the
 * service listens.
 */
export function lazyTypeBoxCheck(schema: TSchema, role: SchemaRole): Check {
  if (compile !== undefined) return compile(schema, role)
  loading ??= import('./typebox-check.ts').then((loaded) => {
    compile = loaded.typeBoxCheck
  })
  let check: Check | undefined
  waiting.add(() => {
    check ??= compile?.(schema, role)
  })
  const checkLater = async (value: unknown) => {
    await schemasCompiled().catch((error: unknown) => {
      // It may be the error of another schema.
      if (check === undefined) throw error
    })
    return (check as Check)(value)
  }
  return (value) => (check === undefined ? checkLater(value) : check(value))
}
