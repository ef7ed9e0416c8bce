/** The programs of the page: what they do, their lines and environment, and the buttons that stop and start them. */
import type { Logger } from '@elysia-microservices/transport/kit'
import { fieldsOf } from '../bounds.ts'
import type { ProgramAction, Programs, ProgramsView } from '../programs.ts'
import type { Source, SourceContext } from './source.ts'

const ACTIONS: readonly ProgramAction[] = ['start', 'stop', 'restart']

export class ProgramsOfPage implements Source<'programs'> {
  readonly topic = 'programs'
  readonly #programs: Programs
  readonly #canTry: boolean
  readonly #logger: Logger
  #tell = () => {}
  #told = ''

  constructor(programs: Programs, { canTry, logger }: SourceContext) {
    this.#programs = programs
    this.#canTry = canTry
    this.#logger = logger
  }

  latest(): ProgramsView {
    return { programs: this.#programs.list() }
  }

  begin(tell: () => void): void {
    this.#tell = tell
  }

  sampled(): void {
    const text = JSON.stringify(this.latest())
    if (text === this.#told) return
    this.#told = text
    this.#tell()
  }

  /**
   * Returns lines or the environment of a program, or stops and starts it: `{ name, action, after }`.
   * @throws {TypeError} the request is invalid or not allowed
   */
  ask(question: unknown): unknown {
    const { name, action, after = 0 } = fieldsOf(question)
    const program = this.#programs.list().find((each) => each.name === name)
    if (program === undefined) throw new TypeError('There is no such program')
    if (action === 'lines') {
      if (!Number.isSafeInteger(after)) throw new TypeError('after must be the number of a line')
      return this.#programs.lines(program.name, after as number)
    }
    if (!this.#canTry)
      throw new TypeError(
        'The console is read-only: the option try of consolePage() allows calls and changes'
      )
    if (action === 'environment') return this.#programs.environment(program.name)
    const wanted = ACTIONS.find((each) => each === action)
    if (wanted === undefined) throw new TypeError('action must be lines, environment, start, stop or restart')
    this.#logger.warn(`The page was asked to ${wanted} ${program.name}`)
    this.#programs.act(program.name, wanted)
    return { done: wanted }
  }
}
