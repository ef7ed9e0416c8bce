/** Macros: names for hooks and schemas, which handlers, guards and other macros use as options. */
import { isThenable, OptionError } from '@elysia-microservices/transport/kit'
import {
  asStandalone,
  compileSchemas,
  type MessageSchema,
  mergeSchemas,
  type SchemaOptions
} from '../schema/message-schema.ts'
import { type Hook, type HookOptions, hooksOf, inOrder, isHookType } from './hook.ts'
import { isSameValue } from './same-value.ts'

/** The hooks and schemas of a macro, and the macros that it uses. */
export type MacroOptions = HookOptions & SchemaOptions & Readonly<Record<string, unknown>>

/** Hooks and schemas, or a function that makes them from the value of the handler's option. */
export type Macro = MacroOptions | ((value: never) => MacroOptions | undefined)

/** The macros of a service by name. */
export type Macros = ReadonlyMap<string, Macro>

const SCHEMAS: ReadonlySet<string> = new Set(['data', 'headers', 'response', 'errors', 'passes'])

/** Options that are neither hooks nor schemas. */
const OTHERS: ReadonlySet<string> = new Set(['as', 'schema', 'durable', 'timeout', 'idempotent', 'streams'])

/** Options of a single handler, which a guard cannot have. */
const OF_HANDLERS: ReadonlySet<string> = new Set(['durable', 'timeout', 'idempotent', 'streams'])

/** How deep macros may use each other. A macro that uses itself with another value each time has no end. */
const DEEPEST = 16

/** The macros that one options object has used so far, and what they have added. */
interface Use {
  readonly macros: Macros
  readonly used: { readonly name: string; readonly value: unknown }[]
  readonly hooks: Hook[]
  readonly schemas: MessageSchema[]
}

/**
 * The hooks and schemas of a handler's options. Those of macros come first, and the schemas of macros hold beside
 * the options' own.
 * @throws {OptionError} an option is unknown or wrong, or a macro is
 */
export function readOptions(
  options: Readonly<Record<string, unknown>>,
  macros: Macros
): { hooks: Hook[]; schema: MessageSchema } {
  const use: Use = { macros, used: [], hooks: [], schemas: [] }
  for (const [name, value] of Object.entries(options)) {
    if (isKnown(name)) continue
    if (!macros.has(name))
      // A misspelt name must not be ignored: a guard whose name `beforeHandle` is misspelt would never run.
      throw new OptionError(
        `options.${name}`,
        OF_HANDLERS.has(name)
          ? `options.${name} is an option of each handler: .message(pattern, handler, { ${name} })`
          : `options.${name} is neither an option of a handler nor a macro of the service`
      )
    useMacro(name, value, use, 'options')
  }
  const hooks = [...use.hooks, ...hooksOf(options, 'local')]
  return { hooks: inOrder(hooks), schema: mergeSchemas(...use.schemas, compileSchemas(options)) }
}

/**
 * Checks macros that are added to a service. The members of a macro that is a function are known only when the macro
 * is used.
 * @param macros all macros of the service, with the new ones
 * @throws {OptionError} a macro is no object or function, or has a member that is no hook, schema or macro
 */
export function checkMacros(added: Readonly<Record<string, Macro>>, macros: Macros): void {
  for (const [name, macro] of Object.entries(added)) {
    if (isKnown(name) || OTHERS.has(name))
      throw new OptionError(
        `macro.${name}`,
        `A macro cannot have the name '${name}', because handlers have an option of that name`
      )
    if (typeof macro === 'function') continue
    checkMembers(name, macro, macros)
    // Hooks and schemas are read here, too, so that a wrong one is found where the macro is written.
    hooksOf(macro, 'local')
    compileSchemas(macro)
  }
}

function checkMembers(name: string, given: unknown, macros: Macros): asserts given is MacroOptions {
  if (typeof given !== 'object' || given === null || Array.isArray(given) || isThenable(given))
    throw OptionError.expected(`macro.${name}`, 'an object of hooks and schemas', given)
  for (const member of Object.keys(given)) {
    if (isKnown(member) || macros.has(member)) continue
    throw new OptionError(
      `macro.${name}.${member}`,
      `The macro '${name}' has '${member}', which is neither a hook, nor a schema, nor a macro of the service`
    )
  }
}

/** Adds the hooks and schemas of a macro, and of the macros that it uses, in the order of its members. */
function useMacro(name: string, value: unknown, use: Use, path: string, depth = 1): void {
  // A macro that several others use with the same value runs once, as in Elysia.
  if (use.used.some((one) => one.name === name && isSameValue(one.value, value))) return
  use.used.push({ name, value })
  if (depth > DEEPEST)
    throw new OptionError(`macro.${name}`, `The macro '${name}' uses itself, with another value each time`)
  const definition = definitionOf(name, value, use, path)
  if (definition === undefined) return
  for (const [member, given] of Object.entries(definition)) {
    if (isHookType(member)) use.hooks.push(...hooksOf({ [member]: given }, 'local'))
    else if (!SCHEMAS.has(member)) useMacro(member, given, use, `macro.${name}`, depth + 1)
  }
  use.schemas.push(asStandalone(compileSchemas(definition)))
}

/** The definition of a macro for one value; `undefined` if the macro is off. */
function definitionOf(name: string, value: unknown, { macros }: Use, path: string): MacroOptions | undefined {
  const macro = macros.get(name)
  if (typeof macro !== 'function') {
    if (value === true) return macro
    if (value === false || value === undefined) return undefined
    throw OptionError.expected(`${path}.${name}`, 'true or false', value)
  }
  const made: unknown = macro(value as never)
  if (!made) return undefined
  checkMembers(name, made, macros)
  return made
}

function isKnown(name: string): boolean {
  return SCHEMAS.has(name) || isHookType(name)
}
