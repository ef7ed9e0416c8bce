/** Schemas that have names: handlers and guards may give a schema by its name. */
import { OptionError } from '@elysia-microservices/transport/kit'
import { isSchema } from './schema-check.ts'
import type { AnySchema } from './schema-types.ts'

/** The named schemas of a service. */
export type Models = Map<string, AnySchema>

/** @throws {OptionError} a value is not a schema */
export function addModels(models: Models, added: Readonly<Record<string, unknown>>): void {
  for (const [name, schema] of Object.entries(added)) {
    if (!isSchema(schema))
      throw OptionError.expected(`model.${name}`, "a schema of Elysia's t or a Standard Schema", schema)
    models.set(name, schema)
  }
}

const PARTS = ['data', 'headers', 'response'] as const

/**
 * The same options with the schemas in place of their names.
 * @throws {OptionError} there is no schema of that name
 */
export function withModels<Options extends Readonly<Record<string, unknown>>>(
  options: Options,
  models: Models
): Options {
  const named = PARTS.filter((part) => typeof options[part] === 'string')
  if (named.length === 0) return options
  const schemas = named.map((part) => [part, modelOf(`options.${part}`, options[part] as string, models)])
  return { ...options, ...Object.fromEntries(schemas) }
}

function modelOf(path: string, name: string, models: Models): AnySchema {
  const schema = models.get(name)
  if (schema !== undefined) return schema
  const names = [...models.keys()]
  throw OptionError.expected(
    path,
    names.length === 0
      ? 'a schema, or the name of one that model() has named before'
      : `a schema, or one of the names ${names.map((one) => `'${one}'`).join(', ')} that model() has given`,
    name
  )
}
