/** Patterns as types: the names that callers may use, and the texts that wildcards match. */
import type { PatternParams } from '../router/handler-pattern.ts'
import type { Empty } from './scope.ts'

/** One of the patterns of a handler. */
export type OnePattern<Given> = Given extends readonly (infer One)[] ? One : Given

type HasWildcard = `${string}*${string}` | `${string}>${string}`

/** The texts that a pattern with wildcards matches: `orders.${string}` for `orders.*`. */
type WildcardTexts<Text extends string> = Text extends `${infer Head}.${infer Tail}`
  ? `${Head extends '*' ? string : Head}.${WildcardTexts<Tail>}`
  : Text extends '*' | '>'
    ? string
    : Text

/**
 * The name, but `never` for `string` and `number`: every name would fit these types, so mistakes would not be
 * found.
 */
type Named<Name> = string extends Name ? never : number extends Name ? never : Name

/**
 * The names of a pattern in the type of its service. `never` for patterns whose names the compiler cannot know: a
 * RegExp, `*` and `>` alone, a text that is known at run time only.
 */
export type NameOf<Given> =
  OnePattern<Given> extends infer One
    ? One extends string
      ? string extends One
        ? never
        : Named<One extends HasWildcard ? WildcardTexts<One> : One>
      : One extends number
        ? Named<One>
        : One extends RegExp
          ? never
          : ObjectName<One>
    : never

/** The canonical text of an object with up to four texts and numbers; `never` for other objects. */
export type ObjectName<One> =
  One extends Readonly<Record<string, string | number | boolean>>
    ? string extends keyof One
      ? never
      : Named<`{${Pairs<One, keyof One & string>}}`>
    : never

/** Keys with their values, in every possible order, because the compiler cannot sort keys. */
type Pairs<
  One,
  Keys extends string,
  Depth extends readonly unknown[] = [],
  Key extends string = Keys
> = Depth['length'] extends 4
  ? never
  : Key extends Keys
    ? [Exclude<Keys, Key>] extends [never]
      ? Pair<One, Key>
      : `${Pair<One, Key>},${Pairs<One, Exclude<Keys, Key>, [...Depth, Key]>}`
    : never

type Pair<One, Key extends string> = Key extends keyof One
  ? One[Key] extends string
    ? `"${Key}":"${One[Key]}"`
    : One[Key] extends number | boolean
      ? `"${Key}":${One[Key]}`
      : never
  : never

/** The object that a canonical text describes; `never` for a name that is not such a text. */
type ObjectOf<Name> = Name extends `{${infer Body}}` ? Flat<Parsed<Body>> : never

/** A pattern as a name in the type of a service, or as the object of which the name is the text. */
export type AsPattern<Name> = Name | ObjectOf<Name>

/** The name of a pattern. */
export type AsName<Given> = Given extends object ? ObjectName<Given> : Given

type Parsed<Body extends string> = Body extends `"${infer Key}":"${infer Value}","${infer Rest}`
  ? { readonly [K in Key]: Value } & Parsed<`"${Rest}`>
  : Body extends `"${infer Key}":"${infer Value}"`
    ? { readonly [K in Key]: Value }
    : Body extends `"${infer Key}":${infer Value extends number | boolean},"${infer Rest}`
      ? { readonly [K in Key]: Value } & Parsed<`"${Rest}`>
      : Body extends `"${infer Key}":${infer Value extends number | boolean}`
        ? { readonly [K in Key]: Value }
        : never

type Flat<Type> = { [Key in keyof Type]: Type[Key] }

/** A text for each wildcard. */
type WildcardParams<Text extends string> = Text extends `${infer Head}.${infer Tail}`
  ? Head extends '*'
    ? readonly [string, ...WildcardParams<Tail>]
    : WildcardParams<Tail>
  : Text extends '*' | '>'
    ? readonly [string]
    : readonly []

type ParamsOf<One> = One extends RegExp
  ? PatternParams
  : One extends '>'
    ? readonly []
    : One extends HasWildcard
      ? WildcardParams<One>
      : readonly []

/** `{ params }` for patterns with wildcards or groups, no fields for exact patterns. */
export type ParamsContext<Given> = [Exclude<ParamsOf<OnePattern<Given>>, readonly []>] extends [never]
  ? Empty
  : {
      /** The texts that wildcards or groups of the pattern have matched, in their order. */
      readonly params: ParamsOf<OnePattern<Given>>
    }

/** The types of a group's handlers, with the group's prefix before their names. */
export type Prefixed<Prefix extends string, Types> = {
  readonly [Name in keyof Types as Name extends string | number ? `${Prefix}.${Name}` : never]: Types[Name]
}
