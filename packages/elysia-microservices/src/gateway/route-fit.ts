/** Types that check whether a route's default data fits the data of its pattern, as far as schemas tell. */
import type { AnySchema, OutputOf } from '../schema/schema-types.ts'
import type { At, MethodOf, OutputAt, ParamsOf } from './route-types.ts'

type Bodyless = 'GET' | 'HEAD' | 'DELETE' | 'OPTIONS'

/** The parts of a request whose fields are known, in the order in which they replace each other. */
type FieldsOf<Key, Given> = OutputAt<Given, 'params', ParamsOf<Key>> &
  OutputAt<Given, 'query', unknown> &
  OutputAt<Given, 'body', unknown>

/**
 * The type of fields that no schema names but that a request may have: any type (`unknown`), texts of the query, or
 * no such fields (`never`).
 */
type Others<Key, Given> =
  MethodOf<Key> extends Bodyless
    ? At<Given, 'query'> extends AnySchema
      ? never
      : string
    : At<Given, 'body'> extends AnySchema
      ? never
      : unknown

/**
 * The same as `Others`, but `never` if the data has no property for a parameter of the path. In that case the
 * parameter's name is misspelt, and a misspelt name must not pass because the query or the body might have the
 * field.
 */
type OthersBeside<Data, Key, Given> = [
  Exclude<keyof OutputAt<Given, 'params', ParamsOf<Key>>, KeyOf<Data>>
] extends [never]
  ? Others<Key, Given>
  : never

type KeyOf<Data> = Data extends unknown ? keyof Data : never

/** The names of fields of the data that do not fit: those of another type, and missing ones. */
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

/**
 * Whether a body fits that is not an object. Such a body is sent unchanged, if the route has no parameters and no
 * query.
 */
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
