/** The programs behind the services, if somebody runs them for the page, as `elysia-microservices dev` does. */

/** The programs of a page, which can be stopped and started on it. */
export interface Programs {
  /** All programs, in the order in which they are shown. */
  list(): readonly ProgramView[]
  /**
   * The last lines of a program.
   * @param after the number of the last line that the page has; 0: none
   */
  lines(name: string, after: number): ProgramLines
  /** The environment variables that a program was given, beside those of the user's own shell. */
  environment(name: string): readonly (readonly [name: string, value: string])[]
  /** Stops, starts or restarts a program, without waiting for it. */
  act(name: string, action: ProgramAction): void
}

/** A program, as the page shows it. */
export interface ProgramView {
  readonly name: string
  /**
   * `crashed`: it waits for its next start; `broken`: its code must be edited first; `ended`: it has ended by itself;
   * `stopped`: by the page.
   */
  readonly state: 'starting' | 'ready' | 'crashed' | 'broken' | 'ended' | 'stopped'
  /** Why it does not run, in words. */
  readonly problem?: string
  readonly pid?: number
  /** The ports, with what they are for. */
  readonly ports: readonly string[]
  /** How often it was started. */
  readonly starts: number
  /** When it has come into this state, in milliseconds since 1970. */
  readonly since: number
  /** The names of the services in it. */
  readonly services: readonly string[]
}

/** Lines of a program. */
export interface ProgramLines {
  /** The number of its last line. */
  readonly last: number
  readonly lines: readonly ProgramLine[]
}

/** A line, with its number since the first one. */
export interface ProgramLine {
  readonly number: number
  /** Milliseconds since 1970. */
  readonly at: number
  readonly text: string
}

/** An order of the page to `dev`. */
export type ProgramAction = 'start' | 'stop' | 'restart'

/** All programs, as the server sends them to every page. */
export interface ProgramsView {
  readonly programs: readonly ProgramView[]
}
