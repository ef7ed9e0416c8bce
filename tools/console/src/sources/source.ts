/** The server's part of a screen: a value that is sent to every page, and answers to requests of single pages. */
import type { Logger } from '@elysia-microservices/transport/kit'
import type { CheckedClient } from '../clients.ts'
import type { Programs } from '../programs.ts'
import type { Overview, Sample, Topics } from '../protocol.ts'

/** The arguments from which sources are made. */
export interface SourceContext {
  /** Returns the current clients of services by their ids. */
  readonly clients: () => ReadonlyMap<string, CheckedClient>
  /** Whether everybody who may open the page may also change something: see `options.try` of `consolePage()`. */
  readonly canTry: boolean
  /** The programs behind the services; `undefined` if nobody runs them for the page. */
  readonly programs: Programs | undefined
  /** The file that keeps the last hour; `undefined`: memory only. */
  readonly history?: string | undefined
  /** Receives a line for each change. */
  readonly logger: Logger
}

/** The source of one topic. A source needs only some of the optional methods. */
export interface Source<Topic extends keyof Topics = keyof Topics> {
  readonly topic: Topic
  /** The value for a page that opens, and for all pages after `tell`; `undefined` if there is no value yet. */
  latest?(): Topics[Topic] | undefined
  /** Called when the first page is opened. @param tell sends the latest value to all pages */
  begin?(tell: () => void): void
  /** Called when the last page has been closed. */
  rest?(): void
  /** Called after each sample of the services, while a page is open. */
  sampled?(sample: Sample, overview: Overview): void
  /**
   * Answers a request of one page with a JSON value.
   * @param question the data of the request, unchecked
   * @throws {TypeError} the request is invalid; the page shows the message
   */
  ask?(question: unknown, signal: AbortSignal): unknown
}
