/** Nest's `ExecutionContext`, which describes a call to guards, interceptors and exception filters. */
import type { RpcContext } from './context.ts'

/** The arguments of the method: the data and the context; over gRPC the metadata in its place, and the call. */
type Arguments = [data: unknown, context: RpcContext, call?: unknown]

/** A class, as used in Nest's pipeline. */
export type AnyClass = abstract new (...args: never[]) => object

/** Says which method is called, and with which arguments. For exception filters the class and the method are `null`. */
export class RpcExecutionContext {
  readonly #args: Arguments
  readonly #type: AnyClass | null
  readonly #handler: ((...args: never[]) => unknown) | null

  constructor(
    args: Arguments,
    type: AnyClass | null = null,
    handler: ((...args: never[]) => unknown) | null = null
  ) {
    this.#args = args
    this.#type = type
    this.#handler = handler
  }

  /** Always `'rpc'`, Nest's word for messages. */
  getType<Kind extends string = 'rpc'>(): Kind {
    return 'rpc' as Kind
  }

  /** The class of the controller. */
  getClass(): AnyClass | null {
    return this.#type
  }

  /** The method, which carries the metadata of its decorators. */
  getHandler(): ((...args: never[]) => unknown) | null {
    return this.#handler
  }

  /** The arguments of the method: the data and the context; over gRPC the metadata in its place, and the call. */
  getArgs(): [data: unknown, context: RpcContext, call?: unknown] {
    return this.#args
  }

  /** One of the values of `getArgs()`. */
  getArgByIndex(index: number): unknown {
    return this.#args[index]
  }

  /** The data and the context, by name. */
  switchToRpc(): { getData(): unknown; getContext(): RpcContext } {
    return { getData: () => this.#args[0], getContext: () => this.#args[1] }
  }

  /** As in Nest: code that does not check `getType()` gets the arguments by position. */
  switchToHttp(): { getRequest(): unknown; getResponse(): unknown; getNext(): unknown } {
    return {
      getRequest: () => this.#args[0],
      getResponse: () => this.#args[1],
      getNext: () => undefined
    }
  }

  /** See `switchToHttp`. */
  switchToWs(): { getClient(): unknown; getData(): unknown; getPattern(): unknown } {
    return {
      getClient: () => this.#args[0],
      getData: () => this.#args[1],
      getPattern: () => this.#args[1]
    }
  }
}
