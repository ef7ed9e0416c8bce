/** A service or an engine that `dev` runs, as the page knows it. */
import type { ProgramAction, Programs, ProgramView } from '@elysia-microservices/console'
import type { Log } from './log.ts'

/** A program that the page can stop and start. */
export interface Program {
  readonly name: string
  readonly log: Log
  view(): ProgramView
  /** The environment variables that it was given, beside those of the user's own shell. */
  environment(): readonly (readonly [name: string, value: string])[]
  act(action: ProgramAction): void
}

/** The programs for the page. @param all returns those that there are */
export function programsOf(all: () => readonly Program[]): Programs {
  const named = (name: string) => all().find((program) => program.name === name)
  return {
    list: () => all().map((program) => program.view()),
    lines: (name, after) => named(name)?.log.after(after) ?? { last: 0, lines: [] },
    environment: (name) => named(name)?.environment() ?? [],
    act: (name, action) => named(name)?.act(action)
  }
}
