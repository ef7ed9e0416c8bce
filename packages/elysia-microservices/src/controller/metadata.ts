/** The keys and shapes of the metadata that Nest's decorators leave on classes and methods (Nest 12). */

/** Keys of `reflect-metadata`. */
export const METADATA = {
  /** On the method: 1 for messages, 2 for events. */
  handlerType: 'microservices:handler_type',
  /** On the method: array of patterns. */
  pattern: 'microservices:pattern',
  /** On the method: the transport it is meant for, `undefined` for all. */
  transport: 'microservices:transport',
  /** On the class, per method name: what each parameter gets. */
  parameters: '__routeArguments__',
  /** On the class: whether an instance is made for each request. */
  scope: 'scope:options'
} as const

/** Parts of Nest's pipeline, by the key under which their decorators store them, on methods and classes. */
export const ENHANCERS = {
  __pipes__: '@UsePipes',
  __guards__: '@UseGuards',
  __interceptors__: '@UseInterceptors',
  __exceptionFilters__: '@UseFilters'
} as const

/** Values under `METADATA.handlerType`. */
export const HANDLER_TYPE = { message: 1, event: 2 } as const

/** First part of the keys of `ParameterMetadata`. */
export const PARAMETER_TYPE = { payload: 3, context: 6 } as const

/** Nest's number for the TCP transport. */
export const TRANSPORT_TCP = 0

/** What the parameters of a method get: `"<type>:<index>"` → where from. */
export interface ParameterMetadata {
  readonly [typeAndIndex: string]: {
    readonly index: number
    /** Property of the data; `undefined` for all of it. */
    readonly data?: unknown
    readonly pipes?: readonly unknown[]
    readonly schema?: unknown
  }
}
