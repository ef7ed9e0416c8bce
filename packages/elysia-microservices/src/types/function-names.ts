/**
 * The names that JavaScript gives to every function. A service is a function, because that is what Elysia takes as a
 * plugin; these members are private, so that editors offer only the names of the service itself.
 */
export declare abstract class FunctionNames {
  private readonly apply: never
  private readonly arguments: never
  private readonly bind: never
  private readonly call: never
  private readonly caller: never
  private readonly length: never
  private readonly prototype: never
  private readonly toString: never
  private readonly [Symbol.hasInstance]: never
}
