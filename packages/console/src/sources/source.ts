/** The server's part of a screen: a value that every page gets, and answers to questions of one page. */
import type { Logger } from '@elysia-microservices/transport/kit'
import type { ConsoleClient } from '../clients.ts'
import type { Overview, Sample, Topics } from '../protocol.ts'

/** The parts from which sources are made. */
export interface SourceContext {
  /** The clients of services by their ids, as they are now. */
  readonly clients: () => ReadonlyMap<string, ConsoleClient>
  /** Whether everybody who may open the page may change something, too: see `options.try` of `console()`. */
  readonly canTry: boolean
  /** Is told what was done here. */
  readonly logger: Logger
}

/** The source of one topic. All that is optional it may leave out. */
export interface Source<Topic extends keyof Topics = keyof Topics> {
  readonly topic: Topic
  /** The value for a page that opens, and for all pages after `tell`; `undefined`: none yet. */
  latest?(): Topics[Topic] | undefined
  /** A page is open, where none was. @param tell has all pages told of what is the latest now */
  begin?(tell: () => void): void
  /** The last page has closed. */
  rest?(): void
  /** Services have been asked again, which is done while a page is open. */
  sampled?(sample: Sample, overview: Overview): void
  /**
   * Answers a question of one page with something that is JSON.
   * @param question as it came: anything
   * @throws {TypeError} the question is none; its message is shown
   */
  ask?(question: unknown, signal: AbortSignal): unknown
}
