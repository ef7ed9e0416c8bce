/** Whether what comes by default fits the data of a pattern, as far as schemas tell. */
import type { AnySchema, OutputOf } from '../schema/schema-types.ts'
import type { At, MethodOf, OutputAt, ParamsOf } from './route-types.ts'

type Bodyless = 'GET' | 'HEAD' | 'DELETE' | 'OPTIONS'

/** The parts of a request whose fields are known, in the order in which they replace each other. */
type FieldsOf<Key, Given> = OutputAt<Given, 'params', ParamsOf<Key>> &
  OutputAt<Given, 'query', unknown> &
  OutputAt<Given, 'body', unknown>

/** The type of other fields that may come: any (`unknown`), texts of the query, or none (`never`). */
type Others<Key, Given> =
  MethodOf<Key> extends Bodyless
    ? At<Given, 'query'> extends AnySchema
      ? never
      : string
    : At<Given, 'body'> extends AnySchema
      ? never
      : unknown

/**
 * The type of other fields that may come. None, if a parameter of the path has no place in the data: then a name is
 * misspelt, and what it was meant for would be looked for in the query or the body.
 */
type OthersBeside<Data, Key, Given> = [
  Exclude<keyof OutputAt<Given, 'params', ParamsOf<Key>>, KeyOf<Data>>
] extends [never]
  ? Others<Key, Given>
  : never

type KeyOf<Data> = Data extends unknown ? keyof Data : never

/** Names of fields that do not fit: of another type, or missing. */
type Misfits<Data, Fields, Rest> = {
  [Name in keyof Data]-?: Name extends keyof Fields
    ? Fields[Name] extends Data[Name]
      ? never
      : Name
    : unknown extends Rest
      ? never
      : [Rest] extends [never]
        ? undefined extends Data[Name]
          ? never
          : Name
        : Rest extends Data[Name]
          ? never
          : Name
}[keyof Data]

type Indivisible = string | number | boolean | bigint | symbol | readonly unknown[] | ArrayBufferView

/** Whether the default data fits the pattern. */
export type FitsByDefault<Data, Key, Given> = unknown extends Data
  ? true
  : [NonNullable<Data>] extends [never]
    ? true
    : [Extract<NonNullable<Data>, Indivisible>] extends [never]
      ? [
          Misfits<NonNullable<Data>, FieldsOf<Key, Given>, OthersBeside<NonNullable<Data>, Key, Given>>
        ] extends [never]
        ? true
        : false
      : FitsWhole<Data, Key, Given>

/** A body that is no object is sent as it is, if there is nothing else to send. */
type FitsWhole<Data, Key, Given> =
  MethodOf<Key> extends Bodyless
    ? false
    : At<Given, 'query'> extends AnySchema
      ? false
      : [keyof ParamsOf<Key>] extends [never]
        ? At<Given, 'body'> extends infer Body extends AnySchema
          ? OutputOf<Body> extends Data
            ? true
            : false
          : true
        : false
