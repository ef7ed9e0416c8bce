/**
 * The environment of one service: the decorators and the store that its chain adds. Each service keeps its own, so
 * services that were made apart and are put together do not share a name by accident.
 */
import { consoleLogger, type Logger, OptionError } from '@elysia-microservices/transport/kit'
import { assertFree } from './context.ts'

/** The decorators and the store of an Elysia app. */
export interface Host {
  readonly decorator: object
  readonly store: object
}

/** An object with values of a store. */
export interface Values {
  readonly values: Record<string, unknown>
  /** Whether an Elysia app has brought the values. If the app that the service runs in has them, too, its values count. */
  readonly isOfApp: boolean
}

/** The environment of one service. */
export class Environment {
  /** Receives errors of the hooks that run after a response. */
  logger: Logger = consoleLogger
  readonly #decorators: Record<string, unknown> = {}
  readonly #state: Record<string, unknown> = {}
  /** The apps and services that the service uses. Of two values of one name, the first one counts. */
  readonly #used: (Host | Environment)[] = []
  #host: Host | undefined
  #changes = 0

  /** The app in which the service runs. */
  get host(): Host | undefined {
    return this.#host
  }

  /** A number that grows with each addition to this environment or to that of a used service. */
  get changes(): number {
    let sum = this.#changes
    for (const used of this.#used) if (used instanceof Environment) sum += used.changes
    return sum
  }

  /** The decorators that the service's own handlers see, without those of services above and of the host. */
  decorators(): Record<string, unknown> {
    const used = this.#used.map((one) => (one instanceof Environment ? one.decorators() : one.decorator))
    return Object.assign({}, ...used.reverse(), this.#decorators) as Record<string, unknown>
  }

  /** The objects with the values of the store, those of the service itself first. */
  state(): Values[] {
    return [
      { values: this.#state, isOfApp: false },
      ...this.#used.flatMap((used) =>
        used instanceof Environment
          ? used.state()
          : [{ values: used.store as Record<string, unknown>, isOfApp: true }]
      )
    ]
  }

  /**
   * Adds decorators.
   * @throws {OptionError} a message already has a field of that name, or the service's handlers already see such a
   * decorator with another value
   */
  addDecorators(decorators: object): void {
    assertFree(Object.keys(decorators))
    addNew(this.#decorators, decorators, [this.decorators()], 'decorator')
    this.#changes++
  }

  /** Adds values to the store. @throws {OptionError} the service's handlers already see another value of that name */
  addState(values: object): void {
    addNew(
      this.#state,
      values,
      this.state().map((one) => one.values),
      'value in its store'
    )
    this.#changes++
  }

  /**
   * Uses the decorators and the store of an Elysia app.
   * @throws {OptionError} a message already has a field with the name of a decorator
   */
  useApp({ decorator, store }: Host): void {
    assertFree(Object.keys(decorator))
    this.#used.push({ decorator: { ...decorator }, store })
    this.#changes++
  }

  /** Uses the decorators and the store of another service. */
  useService(other: Environment): void {
    if (this.#used.includes(other)) return
    this.#used.push(other)
    this.#changes++
  }

  /** Makes an app the host, whose decorators and store the service's handlers see, too. */
  join(host: Host): void {
    this.#host = host
    this.#changes++
  }
}

function addNew(
  target: Record<string, unknown>,
  values: object,
  present: readonly Record<string, unknown>[],
  what: string
): void {
  for (const [name, value] of Object.entries(values)) {
    const other = present.find((one) => Object.hasOwn(one, name))
    if (other !== undefined && !Object.is(other[name], value))
      throw new OptionError(
        name,
        `The service already has a ${what} with the name '${name}' and another value, from its own chain or from a service or app that it uses: choose another name, or add it before that use()`
      )
    target[name] = value
  }
}
