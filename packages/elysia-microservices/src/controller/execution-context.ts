/** Nest's `ExecutionContext`, by which guards, interceptors and exception filters see a call. */
import type { RpcContext } from './context.ts'

/** A class, as far as Nest's pipeline is concerned. */
export type AnyClass = abstract new (...args: never[]) => object

/** Says which method is called, and with what. Exception filters are not told the class and the method. */
export class RpcExecutionContext {
  readonly #args: [data: unknown, context: RpcContext]
  readonly #type: AnyClass | null
  readonly #handler: ((...args: never[]) => unknown) | null

  constructor(
    args: [data: unknown, context: RpcContext],
    type: AnyClass | null = null,
    handler: ((...args: never[]) => unknown) | null = null
  ) {
    this.#args = args
    this.#type = type
    this.#handler = handler
  }

  /** Always `'rpc'`: messages, in Nest's words. */
  getType<Kind extends string = 'rpc'>(): Kind {
    return 'rpc' as Kind
  }

  /** The class of the controller. */
  getClass(): AnyClass | null {
    return this.#type
  }

  /** The method, with the metadata that decorators have put there. */
  getHandler(): ((...args: never[]) => unknown) | null {
    return this.#handler
  }

  /** The data and the context. */
  getArgs(): [data: unknown, context: RpcContext] {
    return this.#args
  }

  /** One of `getArgs`. */
  getArgByIndex(index: number): unknown {
    return this.#args[index]
  }

  /** Data and context by name. */
  switchToRpc(): { getData(): unknown; getContext(): RpcContext } {
    return { getData: () => this.#args[0], getContext: () => this.#args[1] }
  }

  /** As in Nest, where code that forgot to ask for the type gets the arguments by their place. */
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
