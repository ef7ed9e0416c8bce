/** The types of macros. */
import type { AnySchema } from '../schema/schema-types.ts'
import type { LocalHooks, OneOrMore } from './hooks.ts'
import type { Message } from './message.ts'
import type { EmptyScope } from './scope.ts'

/** What a macro stands for: hooks and schemas. */
export interface MacroDefinition<Context> extends LocalHooks<Context, EmptyScope> {
  /** Adds what it returns to what the handler gets, before schemas. */
  readonly derive?: OneOrMore<(context: Context) => unknown>
  /** Adds what it returns to what the handler gets, after schemas. */
  readonly resolve?: OneOrMore<(context: Context) => unknown>
  readonly data?: AnySchema
  readonly headers?: AnySchema
  readonly response?: AnySchema
}

/** Macros by name; one that is a function gets the value that a handler gives for it. */
export type Macros<Extras> = Readonly<
  Record<
    string,
    MacroDefinition<Message & Extras> | ((value: never) => MacroDefinition<Message & Extras> | undefined)
  >
>

/** The options that macros make. */
export type MacroValues<Given> = {
  readonly [Name in keyof Given]?: Given[Name] extends (value: infer Value) => unknown ? Value : boolean
}
