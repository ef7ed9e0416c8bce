/** Macros: names for hooks and schemas, which handlers use as options. */
import { OptionError } from '@elysia-microservices/transport/kit'
import {
  compileSchemas,
  type MessageSchema,
  mergeSchemas,
  type SchemaOptions
} from '../schema/message-schema.ts'
import { type Hook, type HookOptions, hooksOf } from './hook.ts'

/** The hooks and schemas of a macro. */
export type MacroOptions = HookOptions & SchemaOptions

/** Hooks and schemas, or a function that makes them from the value of the handler's option. */
export type Macro = MacroOptions | ((value: never) => MacroOptions | undefined)

const SCHEMAS: ReadonlySet<string> = new Set(['data', 'headers', 'response', 'errors', 'passes'])
const HOOKS: ReadonlySet<string> = new Set([
  'beforeHandle',
  'afterHandle',
  'error',
  'derive',
  'resolve',
  'afterResponse'
])

/** The hooks and schemas of a handler's options; those of macros come first. */
export function readOptions(
  options: Readonly<Record<string, unknown>>,
  macros: ReadonlyMap<string, Macro>
): { hooks: Hook[]; schema: MessageSchema } {
  const parts: MacroOptions[] = []
  for (const [name, value] of Object.entries(options)) {
    if (SCHEMAS.has(name) || HOOKS.has(name)) continue
    const macro = macros.get(name)
    // A misspelt name must not be ignored: a guard whose name `beforeHandle` is misspelt would never run.
    if (macro === undefined)
      throw new OptionError(
        `options.${name}`,
        `options.${name} is neither an option of a handler nor a macro of the service`
      )
    const made = typeof macro === 'function' ? macro(value as never) : value === true ? macro : undefined
    if (made !== undefined) parts.push(made)
  }
  parts.push(options)
  return {
    hooks: parts.flatMap((part) => hooksOf(part, 'local')),
    schema: mergeSchemas(...parts.map(compileSchemas))
  }
}
