/** The types of the messages between the server and the page. */
import type { ProgramsView, ProgramView } from './programs.ts'
import type { AlertsView } from './protocol/alerts.ts'
import type { EventsView } from './protocol/events.ts'
import type { Sample } from './protocol/figures.ts'
import type { HistoryView } from './protocol/history.ts'
import type { Overview } from './protocol/services.ts'
import type { TracesView } from './protocol/traces.ts'
import type { Trial, TrialUpdate } from './protocol/trial.ts'

export type * from './protocol/alerts.ts'
export type * from './protocol/events.ts'
export type * from './protocol/figures.ts'
export type * from './protocol/history.ts'
export type * from './protocol/services.ts'
export type * from './protocol/traces.ts'
export type * from './protocol/trial.ts'
export type { ProgramView }

/**
 * The values that the server's sources send to all pages, in addition to services and samples, by their topics.
 * Each screen with a source has one line here (see `sources/index.ts`). A page keeps the last value of each topic.
 */
export interface Topics {
  readonly programs: ProgramsView
  readonly events: EventsView
  readonly history: HistoryView
  readonly alerts: AlertsView
  readonly traces: TracesView
}

/** An item in the stream of updates. */
export type Update =
  | { readonly overview: Overview }
  | { readonly sample: Sample }
  | { readonly topics: Partial<Topics> }

/** The handlers that the server has for the page. */
export type ConsoleService = {
  /** @param look the id of the service whose details are sent; all others are summarised */
  updates(look?: { readonly service?: string | undefined }): AsyncIterable<Update>
  /** Calls a pattern. The stream ends when the answer ends. */
  try(trial: Trial): AsyncIterable<TrialUpdate>
} & {
  /** Answers to requests of a single page. */
  [Topic in keyof Topics as `ask.${Topic}`]: (question: unknown) => unknown
}
