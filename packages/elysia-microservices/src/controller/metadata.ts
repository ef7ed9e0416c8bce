/** The keys and shapes of the metadata that Nest's decorators store on classes and methods (Nest 12). */

/** Keys of `reflect-metadata`. */
export const METADATA = {
  /** On the method: 1 for messages, 2 for events. */
  handlerType: 'microservices:handler_type',
  /** On the method: array of patterns. */
  pattern: 'microservices:pattern',
  /** On the method: the transport that the decorator names, `undefined` for all transports. */
  transport: 'microservices:transport',
  /** On the method: the further arguments of its decorator, after pattern and transport. */
  extras: 'microservices:pattern_extras',
  /** On the class, per method name: the source of each parameter's value. */
  parameters: '__routeArguments__',
  /** On the class: its injection scope, such as an instance for each request. */
  scope: 'scope:options',
  /** Types of parameters: on the prototype for each method name, and on the class for its constructor. */
  parameterTypes: 'design:paramtypes',
  /** On the class: indexes of constructor parameters that are optional. */
  optionalParameters: 'optional:paramtypes',
  /** On the class: properties whose values a container injects. */
  injectedProperties: 'self:properties_metadata',
  /** On the class: injected properties that are optional. */
  optionalProperties: 'optional:properties_metadata',
  /** On the prototype, per property: a client that Nest would put into the property. */
  client: 'microservices:is_client_instance',
  /**
   * On an exception filter, its class or its prototype: the classes of errors that the filter catches; an empty
   * list for all errors.
   */
  caught: '__filterCatchExceptions__'
} as const

/** The kinds of enhancers in Nest's pipeline, each with the key of its metadata, its decorator and its method. */
export const ENHANCERS = {
  guards: { key: '__guards__', decorator: '@UseGuards', method: 'canActivate' },
  pipes: { key: '__pipes__', decorator: '@UsePipes', method: 'transform' },
  interceptors: { key: '__interceptors__', decorator: '@UseInterceptors', method: 'intercept' },
  filters: { key: '__exceptionFilters__', decorator: '@UseFilters', method: 'catch' }
} as const

/** A kind of enhancer in Nest's pipeline. */
export type EnhancerKind = keyof typeof ENHANCERS

/** The values stored under `METADATA.handlerType`. */
export const HANDLER_TYPE = { message: 1, event: 2 } as const

/** The first part of the keys of `ParameterMetadata`. */
export const PARAMETER_TYPE = { payload: 3, context: 6, grpcCall: 9 } as const

/** A part of the keys of `ParameterMetadata` for decorators made by Nest's `createParamDecorator`. */
export const CUSTOM_PARAMETER = '__customRouteArgs__'

/** The sources of the values of a method's parameters, by `"<type>:<index>"`. */
export interface ParameterMetadata {
  readonly [typeAndIndex: string]: {
    readonly index: number
    /**
     * The property of the data that the parameter gets; `undefined` for the whole data. For a custom decorator its
     * argument.
     */
    readonly data?: unknown
    readonly pipes?: readonly unknown[]
    readonly schema?: unknown
    /** The function of a custom decorator, which makes the parameter's value. */
    readonly factory?: unknown
  }
}
