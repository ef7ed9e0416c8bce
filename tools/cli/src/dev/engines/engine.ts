/** How `dev` handles an engine: the packages that need it, and how it is found, started and probed. */
import type { EngineName } from '../config.ts'
import type { Start } from '../process-group.ts'

/** An engine. */
export interface Engine {
  readonly name: EngineName
  /** The name that `dev` prints, such as `RabbitMQ`. */
  readonly title: string
  /**
   * The environment variable that tells services the engine's URL. A user who sets the variable runs an engine
   * already.
   */
  readonly variable: string
  readonly port: number
  /** The packages that need the engine. */
  readonly neededBy: readonly string[]
  /** Advice on how to install the engine. */
  readonly install: string
  /** Whether services find the engine at its usual port even without the environment variable. */
  readonly isFoundByPort: boolean
  /** The engine's URLs contain a user and password, which `dev` does not know. So services keep their own URL. */
  readonly hasUsers?: true
  /** The user and password that `dev` gives the engine, in words that end with a comma and a blank. */
  readonly login?: string
  url(port: number): string
  /** Finds out what listens on an address. */
  probe(host: string, port: number): Promise<Probed>
  /** The path of the program, or the folder of its programs; `undefined` if this machine does not have it. */
  find(root: string, folders: readonly string[]): string | undefined
  /** Returns the command that starts the engine. */
  start(init: EngineStart): Promise<Start>
}

/** The argument of `Engine.start`. */
export interface EngineStart {
  readonly root: string
  /** The result of `find`. */
  readonly found: string
  readonly port: number
  /** The folder of the engine's data. */
  readonly folder: string
}

/** The result of probing a port: the engine listens, another program (`stranger`), or nothing (`nobody`). */
export type Probed = 'engine' | 'stranger' | 'nobody'
