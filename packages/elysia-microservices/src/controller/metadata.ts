/** The keys and shapes of the metadata that Nest's decorators leave on classes and methods (Nest 12). */

/** Keys of `reflect-metadata`. */
export const METADATA = {
  /** On the method: 1 for messages, 2 for events. */
  handlerType: 'microservices:handler_type',
  /** On the method: array of patterns. */
  pattern: 'microservices:pattern',
  /** On the method: the transport it is meant for, `undefined` for all. */
  transport: 'microservices:transport',
  /** On the method: what its decorator was given beside pattern and transport. */
  extras: 'microservices:pattern_extras',
  /** On the class, per method name: what each parameter gets. */
  parameters: '__routeArguments__',
  /** On the class: whether an instance is made for each request. */
  scope: 'scope:options',
  /** On the prototype per method name, and on the class for its constructor: types of the parameters. */
  parameterTypes: 'design:paramtypes',
  /** On the class: indexes of constructor parameters that may be missing. */
  optionalParameters: 'optional:paramtypes',
  /** On the class: properties that a container fills. */
  injectedProperties: 'self:properties_metadata',
  /** On the class: which of these properties may stay empty. */
  optionalProperties: 'optional:properties_metadata',
  /** On the prototype, per property: Nest puts a client there. */
  client: 'microservices:is_client_instance',
  /** On an exception filter, its class and its prototype: classes of what it catches, empty for all. */
  caught: '__filterCatchExceptions__'
} as const

/** The parts of Nest's pipeline, each with the key of its metadata, its decorator and its method. */
export const ENHANCERS = {
  guards: { key: '__guards__', decorator: '@UseGuards', method: 'canActivate' },
  pipes: { key: '__pipes__', decorator: '@UsePipes', method: 'transform' },
  interceptors: { key: '__interceptors__', decorator: '@UseInterceptors', method: 'intercept' },
  filters: { key: '__exceptionFilters__', decorator: '@UseFilters', method: 'catch' }
} as const

/** A part of Nest's pipeline. */
export type EnhancerKind = keyof typeof ENHANCERS

/** Values under `METADATA.handlerType`. */
export const HANDLER_TYPE = { message: 1, event: 2 } as const

/** First part of the keys of `ParameterMetadata`. */
export const PARAMETER_TYPE = { payload: 3, context: 6 } as const

/** Part of the keys of `ParameterMetadata` that Nest's `createParamDecorator` makes. */
export const CUSTOM_PARAMETER = '__customRouteArgs__'

/** The sources of the parameters of a method, by `"<type>:<index>"`. */
export interface ParameterMetadata {
  readonly [typeAndIndex: string]: {
    readonly index: number
    /** Property of the data; `undefined` for all of it. For a custom decorator: what it was given. */
    readonly data?: unknown
    readonly pipes?: readonly unknown[]
    readonly schema?: unknown
    /** Of a custom decorator: makes the value. */
    readonly factory?: unknown
  }
}
