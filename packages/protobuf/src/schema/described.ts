/** The parts of a service's description from which its `.proto` is made: those of `service.describe()`. */

/** A JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** A handler, as `service.describe()` has it. */
export interface DescribedHandler {
  readonly kind: 'message' | 'event'
  readonly patterns: readonly { readonly kind: string; readonly pattern: string }[]
  readonly data?: JsonSchema | undefined
  readonly response?: JsonSchema | undefined
  readonly streams?:
    | { readonly data?: boolean | undefined; readonly answer?: boolean | undefined }
    | undefined
  readonly idempotent?: boolean | undefined
}

/** The description of a service: what `service.describe()` returns. */
export interface DescribedService {
  readonly name?: string | undefined
  readonly handlers: readonly DescribedHandler[]
}
