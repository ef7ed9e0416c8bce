/**
 * TypeBox's schemas, without TypeBox: what compiles them brings Elysia with it, 8 MB that a service without
 * such a schema does not need. It is loaded with the first of them.
 */
import type { TSchema } from 'elysia'
import type { Check } from './check.ts'
import type { SchemaRole, typeBoxCheck } from './typebox-check.ts'

/** Marks a schema; TypeBox's own symbol. */
const KIND = Symbol.for('TypeBox.Kind')

/** Whether a schema is TypeBox's. */
export function isTypeBox(schema: object): schema is TSchema {
  return KIND in schema
}

/** The schema of the values, if the schema describes a stream: `t.AsyncIterator(…)`. */
export function itemsOf(schema: object): TSchema | undefined {
  return Reflect.get(schema, KIND) === 'AsyncIterator' ? (schema as { items?: TSchema }).items : undefined
}

let compile: typeof typeBoxCheck | undefined
let loading: Promise<void> | undefined
/** Checks whose schemas are not compiled yet, and what became of their compilation. */
const waiting: (() => void)[] = []

/**
 * Resolves when all schemas so far are compiled.
 * @throws what TypeBox says of a schema that it cannot compile
 */
export async function schemasCompiled(): Promise<void> {
  await loading
  for (const compileNow of waiting.splice(0)) compileNow()
}

/** The check of a schema. Gives promises until it is compiled, which it is when the service listens. */
export function lazyTypeBoxCheck(schema: TSchema, role: SchemaRole): Check {
  if (compile !== undefined) return compile(schema, role)
  loading ??= import('./typebox-check.ts').then((loaded) => {
    compile = loaded.typeBoxCheck
  })
  let check: Check | undefined
  waiting.push(() => {
    check ??= compile?.(schema, role)
  })
  return (value) => check?.(value) ?? schemasCompiled().then(() => check?.(value))
}
